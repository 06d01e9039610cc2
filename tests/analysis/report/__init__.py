"""Tests of analysis/report."""
