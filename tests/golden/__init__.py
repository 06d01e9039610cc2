"""Every reference number of three published studies beside what this package computes from the raw files."""
