"""Tests of analysis/statistics."""
