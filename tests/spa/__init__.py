"""Tests of spa."""
