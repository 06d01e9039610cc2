"""Tests of analysis/utilities."""
