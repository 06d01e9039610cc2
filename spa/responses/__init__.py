"""What came back: answers read and validated, the store, tidy tables."""
