"""Tests of analysis/self_preference."""
