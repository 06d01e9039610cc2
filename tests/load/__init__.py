"""Many annotators at once: a load generator, servers to aim it at, and what they kept after a kill."""
