"""What an LLM said, or thought likely, read as answers."""
