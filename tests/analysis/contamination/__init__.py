"""Tests of analysis/contamination."""
