"""Tables that do not fit into memory: read in parts, added up, and analysed from their sums."""
