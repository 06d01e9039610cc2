"""System-level probabilistic assessment: ask people and LLMs which text or image generator is better."""
