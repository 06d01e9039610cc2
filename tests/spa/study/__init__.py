"""Tests of spa/study."""
