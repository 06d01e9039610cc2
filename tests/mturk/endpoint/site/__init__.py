"""Tests of mturk/endpoint/site."""
