"""Whether LLMs favour the systems of their own maker, beyond what people say of them."""
