"""Annotators with a known truth, and the parts that let them answer like people and like models."""

SIMULATED_RATER = "simulated-rater"  # model, and by default id, of the rater that rehearsals ask in an LLM's place
