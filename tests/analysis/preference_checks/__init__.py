"""Tests of analysis/preference_checks."""
