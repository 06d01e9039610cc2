"""Tests of audited raters."""
