"""Tests of analysis/agreement."""
