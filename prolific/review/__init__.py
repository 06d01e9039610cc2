"""Approving and rejecting: what the platform's rules allow, and what a person must decide."""
