"""Tests of analysis/spans."""
