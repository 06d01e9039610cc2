"""Long trials, run by hand."""
