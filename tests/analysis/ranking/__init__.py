"""Tests of analysis/ranking."""
