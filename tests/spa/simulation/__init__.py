"""Tests of spa/simulation."""
