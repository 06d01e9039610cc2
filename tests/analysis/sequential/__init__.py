"""Tests of analysis/sequential."""
