"""Whether answered examples bring an LLM nearer to people."""
