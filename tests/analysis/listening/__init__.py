"""Tests of listening tests."""
