"""Tests of analysis/juries."""
