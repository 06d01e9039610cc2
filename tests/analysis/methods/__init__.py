"""Tests of analysis/methods."""
