"""Tests of analysis/monitoring."""
