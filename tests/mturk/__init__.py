"""Tests of the bridge that speaks the MTurk protocol."""
