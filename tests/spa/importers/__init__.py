"""Tests of spa/importers."""
