"""From tidy tables to corrected tests, rankings and a report."""
