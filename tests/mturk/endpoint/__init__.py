"""Tests of mturk/endpoint."""
