"""Tests of analysis/live."""
