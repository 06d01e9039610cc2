"""What a run of a rater will come to: requests, tokens and money, before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spa.forms.prompt_turns import PromptTurn, turns_of
from spa.journal import Journal
from spa.raters import capabilities
from spa.raters.budget import CHARACTERS_A_TOKEN, Price, answer_tokens, token_range
from spa.raters.prompt_messages import PromptWriter, conversation_messages
from spa.raters.reasoning import protocol_of
from spa.raters.run import Forms
from spa.raters.vendors import in_batches, vendor_of
from spa.raters.visits import KIND, RaterVisit, visit_states
from spa.records.raters import Rater

SAMPLE = 200  # visits that are looked at; the rest are extrapolated from these


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterCostEstimate:
    """What is still to be asked. Tokens are estimates: ``basis`` says from what.

    Where it is not known how a model counts what it is sent, ``prompt_tokens`` and ``cost`` are the most that may come.
    """

    visits: int
    finished: int
    requests: int
    prompt_tokens: int
    least_prompt_tokens: int
    completion_tokens: int
    cost: float | None  # None: no price is known
    least_cost: float | None
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
    folder: Path | None = None,
) -> RaterCostEstimate:
    """Estimate what is still to be asked, from up to 200 visits spread over all; nothing is sent.

    ``spent`` is by earlier runs; ``progress`` is called after each visit that is looked at. Models of this
    machine begin at ``folder``.
    """
    known = visit_states(forms.store, visits, lambda assignment_ids: None)
    open_visits = [(one.visit, {call.key for call in one.calls if call.outcome == "ok"}) for one in known if one.open]
    step = max(1, len(open_visits) // SAMPLE)
    sample = open_visits[::step]
    requests = least = prompt = completion = 0
    model = _counted_as(visits[0].asked.rater, folder) if visits else ""
    batch = bool(visits) and in_batches(visits[0].asked.rater)
    for visit, answered in sample:
        for fewest, most, said in _asked_of(forms, visit, answered, prompts, model):
            requests, completion = requests + 1, completion + said
            least, prompt = least + fewest, prompt + most
        if progress is not None:
            progress()
    scale = len(open_visits) / max(1, len(sample))
    whole = [round(value * scale) for value in (requests, prompt, completion, least)]
    looked = "every form" if step == 1 else f"{len(sample)} of {len(open_visits)} forms"
    return RaterCostEstimate(
        visits=len(visits),
        finished=len(visits) - len(open_visits),
        requests=whole[0],
        prompt_tokens=whole[1],
        least_prompt_tokens=whole[3],
        completion_tokens=whole[2],
        cost=None if price is None else price.cost(whole[1], whole[2], batch=batch),
        least_cost=None if price is None else price.cost(whole[3], whole[2], batch=batch),
        spent=spent,
        basis=f"{looked}, {CHARACTERS_A_TOKEN:g} characters a token, no answer asked for twice",
    )


def _asked_of(
    forms: Forms, visit: RaterVisit, answered: Collection[str], prompts: PromptWriter, model: str
) -> Iterable[tuple[int, int, int]]:
    """Yield the fewest and the most tokens read, and the tokens written, for each open turn of a visit."""
    protocol = visit.asked.protocol
    form = forms.form(visit.assignment_id, protocol)
    turns: list[tuple[PromptTurn, tuple[Any, ...]]] = []
    for turn in turns_of(form, protocol.conversation, reasoned=protocol.reasoned):
        turns = [(turn, ())] if turn.alone else [*turns, (turn, ())]
        if turn.turn_id in answered:
            continue
        ways = [(one.questions, protocol_of(one, protocol).explain) for one, _ in turns]
        *before, said = (answer_tokens(questions, explained=explain != "no") for questions, explain in ways)
        fewest, most = token_range(conversation_messages(prompts, turns, protocol), model)
        yield fewest + sum(before), most + sum(before), said


def _counted_as(rater: Rater, folder: Path | None) -> str:
    """Return what says how a rater's model counts: the type in its folder on this machine, else its name."""
    if folder is not None and vendor_of(rater).on_this_machine:
        try:
            found = json.loads((folder / rater.model / "config.json").read_text(encoding="utf-8"))
            return str(found["model_type"])
        except (OSError, ValueError, LookupError, TypeError):  # none, or one that loading will refuse
            pass
    return rater.model


def spent_before(journal: Journal, rater_id: str) -> float:
    """Add up what a rater's calls on record have cost."""
    kinds = (KIND, capabilities.KIND)
    calls = (call for kind in kinds for call in journal.facts(kind))
    return sum(_cost(facts) for scope, _, facts in calls if scope.startswith(f"{rater_id}/"))


def _cost(facts: Mapping[str, Any]) -> float:
    cost = facts.get("cost")
    return float(cost) if isinstance(cost, int | float) else 0.0
