"""Figures as SVG and PDF."""
