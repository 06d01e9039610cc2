"""Tests of analysis/answers."""
