"""Tests of analysis/strengths."""
