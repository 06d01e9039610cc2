"""Tests of single answers behind means."""
