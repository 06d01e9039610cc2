"""Tests of prolific/rehearse."""
