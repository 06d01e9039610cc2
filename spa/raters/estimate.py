"""What a run of a rater will come to: requests, tokens and money, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spa.forms.prompt_turns import PromptTurn, turns_of
from spa.journal import Journal
from spa.raters import capabilities
from spa.raters.budget import CHARACTERS_A_TOKEN, Price, answer_tokens, tokens_of
from spa.raters.prompt_messages import PromptWriter, conversation_messages
from spa.raters.run import Forms
from spa.raters.vendors import in_batches
from spa.raters.visits import KIND, RaterVisit, visit_states

SAMPLE = 200  # visits that are looked at; the rest are extrapolated from these


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterCostEstimate:
    """What is still to be asked. Tokens are estimates: ``basis`` says from what."""

    visits: int
    finished: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None  # None: no price is known
    spent: float  # by earlier runs
    basis: str


def estimate(
    forms: Forms,
    visits: Sequence[RaterVisit],
    prompts: PromptWriter,
    *,
    price: Price | None,
    spent: float = 0.0,
    progress: Callable[[], None] | None = None,
) -> RaterCostEstimate:
    """Estimate what is still to be asked, from up to 200 visits spread over all; nothing is sent.

    ``spent`` is by earlier runs; ``progress`` is called after each visit that is looked at.
    """
    known = visit_states(forms.store, visits, lambda assignment_ids: None)
    open_visits = [(one.visit, {call.key for call in one.calls if call.outcome == "ok"}) for one in known if one.open]
    step = max(1, len(open_visits) // SAMPLE)
    sample = open_visits[::step]
    requests = prompt = completion = 0
    batch = bool(visits) and in_batches(visits[0].asked.rater)
    for visit, answered in sample:
        for asked, read, said in _asked_of(forms, visit, answered, prompts):
            requests, prompt, completion = requests + asked, prompt + read, completion + said
        if progress is not None:
            progress()
    scale = len(open_visits) / max(1, len(sample))
    whole = [round(value * scale) for value in (requests, prompt, completion)]
    looked = "every form" if step == 1 else f"{len(sample)} of {len(open_visits)} forms"
    return RaterCostEstimate(
        visits=len(visits),
        finished=len(visits) - len(open_visits),
        requests=whole[0],
        prompt_tokens=whole[1],
        completion_tokens=whole[2],
        cost=None if price is None else price.cost(whole[1], whole[2], batch=batch),
        spent=spent,
        basis=f"{looked}, {CHARACTERS_A_TOKEN:g} characters a token, no answer asked for twice",
    )


def _asked_of(
    forms: Forms, visit: RaterVisit, answered: Collection[str], prompts: PromptWriter
) -> Iterable[tuple[int, int, int]]:
    """Yield requests, tokens read and tokens written for each open turn of a visit."""
    protocol = visit.asked.protocol
    form = forms.form(visit.assignment_id, protocol)
    turns: list[tuple[PromptTurn, tuple[Any, ...]]] = []
    for turn in turns_of(form, protocol.conversation):
        turns = [(turn, ())] if turn.alone else [*turns, (turn, ())]
        if turn.turn_id in answered:
            continue
        *before, said = (answer_tokens(one.questions, explained=protocol.explain != "no") for one, _ in turns)
        yield 1, tokens_of(conversation_messages(prompts, turns, protocol)) + sum(before), said


def spent_before(journal: Journal, rater_id: str) -> float:
    """Add up what a rater's calls on record have cost."""
    kinds = (KIND, capabilities.KIND)
    calls = (call for kind in kinds for call in journal.facts(kind))
    return sum(_cost(facts) for scope, _, facts in calls if scope.startswith(f"{rater_id}/"))


def _cost(facts: Mapping[str, Any]) -> float:
    cost = facts.get("cost")
    return float(cost) if isinstance(cost, int | float) else 0.0
