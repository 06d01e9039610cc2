"""Tests of analysis/orders."""
