"""Answers in nested conversations: whole dialogues, or the last reply to a dialogue that every system was given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from spa.errors import shortened
from spa.media import PLAIN, medium_of_turns
from spa.media.medium import Medium
from spa.starting.found import Answer
from spa.starting.spoken import Spoken


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogues:
    """Answers with their dialogues, and what is said of it.

    ``whole`` says that an output is all of its dialogue, ``kind`` and ``item_kind`` are keys of media; ``note`` is how
    lists of turns were taken, ``refused`` why they are shown as texts.
    """

    answers: Sequence[Answer]
    whole: bool = False
    kind: str = PLAIN
    item_kind: str = PLAIN
    note: str | None = None
    refused: str | None = None


def with_dialogues(answers: Sequence[Answer], prompts: Mapping[str, str], kind: str | None) -> Dialogues:
    """Return answers that came out of conversations as these are shown; ``kind`` is said of the outputs, if anything.

    Where all before the last reply is one in each item, and more than a question, that is the prompt and the reply the
    output; where it differs by system the whole dialogue is the output.
    """
    spoken = [(one, one.output) for one in answers if isinstance(one.output, Spoken)]
    medium = medium_of_turns()
    if medium is None or not spoken or len(spoken) < len(answers) or kind not in (None, medium.key):
        return Dialogues(answers=answers)
    before: dict[str, set[str | None]] = {}
    wholes: list[str] = []
    for answer, output in spoken:
        try:
            wholes.append(medium.takes(output.dialogue))
            asked = None if output.before is None else _taken(medium, output.before)
        except ValueError as error:
            refused = f"conversations are shown as texts, as {answer.place} is none that can be shown: {error}"
            return Dialogues(answers=answers, refused=shortened(refused, 400))
        before.setdefault(answer.item, set()).add(asked)
    unlike = sum(len(own) > 1 for own in before.values())
    if unlike:  # systems may have instructions of their own, which are no part of what was asked
        before = {item: {one and _without_instructions(one) for one in own} for item, own in before.items()}
    differ = sum(len(own) > 1 or None in own for own in before.values())
    if differ or kind is not None:
        made = [
            replace(answer, output=whole, prompt=None if isinstance(answer.prompt, Spoken) else answer.prompt)
            for answer, whole in zip(answers, wholes, strict=True)
        ]
        why = f"what stands before the last reply differs by system in {differ:,} of {len(before):,} items"
        said = f"outputs are {medium.key}: whole dialogues, as {why if differ else 'was said'}"
        return Dialogues(answers=made, whole=True, kind=medium.key, note=said)
    given = {item: next(iter(own)) or "" for item, own in before.items()}
    several = sum(len(json.loads(one or "[]")) > 1 for one in given.values())
    if not several or not all(isinstance(prompts.get(item), Spoken) and given[item] for item in before):
        return Dialogues(answers=answers)
    made = [replace(answer, prompt=given[answer.item]) for answer in answers]
    left = f", without system prompts, which differ in {unlike:,}" if unlike else ""
    said = (
        f"prompts are {medium.key}: all before the last reply, which is the output, is one for all systems in each of "
        f"{len(before):,} items ({several:,} with several turns){left}"
    )
    return Dialogues(answers=made, item_kind=medium.key, note=said)


def _taken(medium: Medium, before: str) -> str:
    """Return what stands before a reply in the one layout; "" where nothing does."""
    return "" if before == "[]" else medium.takes(before)


def _without_instructions(before: str) -> str:
    kept = [turn for turn in json.loads(before) if turn["role"] != "system"]
    return json.dumps(kept, ensure_ascii=False) if kept else ""
