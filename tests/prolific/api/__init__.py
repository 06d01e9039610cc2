"""Tests of prolific/api."""
