"""Tests of spa/starting."""
