"""What R computes from exported tables beside what the report says."""
