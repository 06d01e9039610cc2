"""Tests of prolific/commands."""
