"""Participants: how they come in, how they leave, and what the platform tells of them meanwhile."""
