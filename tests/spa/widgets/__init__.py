"""Tests of spa/widgets."""
