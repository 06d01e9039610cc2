"""Tests of spa/forms."""
