"""What a reader of the guides has at hand: a folder, a terminal, servers, and people who answer."""
