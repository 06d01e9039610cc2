"""Tests of spa/platforms."""
