"""Tests of spa/responses."""
