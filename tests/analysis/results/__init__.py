"""Tests of analysis/results."""
