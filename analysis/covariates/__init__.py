"""Strengths with covariates of the outputs, such as their length, held constant."""
