"""Tests of analysis/planning."""
