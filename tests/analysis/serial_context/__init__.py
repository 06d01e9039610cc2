"""Tests of serial context."""
