"""Tests of analysis/frames."""
