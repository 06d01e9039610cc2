"""Tests of analysis/correlations."""
