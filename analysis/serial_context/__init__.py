"""Whether an answer depends on its place on the form, or on what was read before it."""
