"""Annotators with a known truth, and the parts that let them answer like people and like models."""
