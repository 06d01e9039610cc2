"""Tests of analysis/parts."""
