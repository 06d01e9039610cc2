"""Tests of analysis/llm_vs_people."""
