"""Tests of spa/tables."""
