"""Figures computed again by libraries."""
