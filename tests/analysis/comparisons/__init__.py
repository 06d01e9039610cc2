"""Tests of analysis/comparisons."""
