"""Whose preference it is."""
