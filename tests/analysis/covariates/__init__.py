"""Tests of analysis/covariates."""
