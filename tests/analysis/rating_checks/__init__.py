"""Tests of analysis/rating_checks."""
