"""Tests of spa/raters."""
