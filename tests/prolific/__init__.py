"""Tests of the package ``prolific``."""
