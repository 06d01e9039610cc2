"""Tests of analysis/heds."""
