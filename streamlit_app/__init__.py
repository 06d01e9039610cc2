"""The review dashboard."""
