"""Every quantity from a frame in memory, as the report computes it."""
