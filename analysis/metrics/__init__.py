"""Automatic metrics: computed from outputs and references, tested between systems, ranked beside people."""
