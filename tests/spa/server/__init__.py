"""Tests of spa/server."""
