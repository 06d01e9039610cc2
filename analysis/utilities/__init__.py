"""Standard gambles: how much better one output is than another, within each annotator."""
