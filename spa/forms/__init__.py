"""How it is asked: one form, rendered as a web page or as a prompt."""
