"""Tests of analysis/descriptives."""
