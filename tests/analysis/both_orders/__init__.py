"""Tests of analysis/both_orders."""
