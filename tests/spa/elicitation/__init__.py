"""Tests of spa/elicitation."""
