"""Endpoints over HTTP: what a request and its reply are, how they are sent, what may go wrong, how fast to go."""
