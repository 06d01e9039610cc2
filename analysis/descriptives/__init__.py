"""What the answers look like without a test: counts, shares, breakdowns, explanations."""
