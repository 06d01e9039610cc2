"""Speed and memory, as ratios to a named peer or bound."""
