"""Tests of analysis/explanations."""
