"""Reasoning first, then probabilities: ``readout = "logit"`` with ``explain = "before"``.

Each question is put in two turns of one conversation. The first asks for an explanation, in free words; the second for
the answer alone, whose probabilities are read. An answer whose explanation is missing is not asked for.
"""

from __future__ import annotations

from spa.forms.prompt_turns import PromptTurn, reasons
from spa.records.raters import RaterProtocol


def protocol_of(turn: PromptTurn, protocol: RaterProtocol) -> RaterProtocol:
    """Return how one turn is asked and read: limits of tokens are those of the explanation."""
    if not protocol.reasoned:
        return protocol
    if reasons(turn):
        return protocol.model_copy(update={"readout": "verbalised"})
    newer = None if protocol.max_completion_tokens is None else 1  # the limit keeps the name that the endpoint takes
    return protocol.model_copy(update={"explain": "no", "max_tokens": None, "max_completion_tokens": newer})
