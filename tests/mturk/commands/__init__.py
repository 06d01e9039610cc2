"""Tests of mturk/commands."""
