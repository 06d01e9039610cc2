"""Whether choices change with the order of the two outputs."""
