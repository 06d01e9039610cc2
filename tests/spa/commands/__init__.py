"""Tests of spa/commands."""
