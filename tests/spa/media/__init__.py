"""Tests of spa/media."""
