"""How a study was conducted: its design, where people came from, how LLMs were asked, for a methods section."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import polars as pl

from analysis.statistics.record import Count, Positive, Record

if TYPE_CHECKING:
    from spa.raters.request_log import CallIndex
    from spa.records.outputs import Outputs
    from spa.records.raters import RaterVariant
    from spa.records.study import Study
    from spa.responses.decisions import VisitDecisions

Balanced = Literal["labels", "question_order", "directions"]
Conversation = Literal["form", "page", "page_alone", "page_questions", "question"]
HUMAN = "human"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StudyDesign(Record):
    """What forms are made of."""

    items: Count | None = None
    """Items that forms draw from, after the study's conditions; null where the outputs were not read."""
    kind: str
    """What an output is: text, image, or another medium."""
    item_kind: str | None = None
    """What an item's text is; null in files of earlier releases."""
    directions: Literal["both", "one"] | None = None
    """In which each pair is compared by preferences; null where none are asked."""
    scale_points: Count | None = None
    """Steps of the rating scale; null where none has steps."""
    counterbalanced: tuple[Balanced, ...] = ()
    screening_questions: Count = 0
    attention_checks: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StudySource(Record):
    """Where people came from."""

    source: str
    recruited: str | None
    """A sentence; null where the source does not say."""
    annotators: Count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StudyRater(Record):
    """How an LLM was asked; what is null was left to its endpoint."""

    group: str
    """Its id, or id/variant."""
    model: str
    """As it was asked for."""
    answered_by: tuple[str, ...] = ()
    """Names by which the endpoint called what answered."""
    first_call: str | None = None
    """Day, UTC: 2026-05-04; null where no store says it, or a program answered."""
    last_call: str | None = None
    simulated: bool = False
    conversation: Conversation = "form"
    answer_format: Literal["schema", "json", "text"] = "schema"
    readout: Literal["verbalised", "logit"] = "verbalised"
    repeats: Positive = 1
    attempts: Positive = 1
    """How often an unreadable answer is asked for."""
    temperature: float | None = None
    top_p: float | None = None
    seed: Count | None = None
    token_limit: Count | None = None
    reasoning_effort: str | None = None
    persona: str | None = None
    frames_per_second: float | None = None
    """Pictures a second that it is sent for each video; null: the video."""
    read_more: tuple[str, ...] = ()
    """Keys of its protocol by which it reads more than people do."""


def design_of(study: Study, outputs: Outputs | None) -> StudyDesign:
    """Return what the study file says of its forms."""
    from spa.elicitation.spa import Spa

    preferences, design = study.section(Spa), study.design
    balanced: tuple[Balanced, ...] = ("labels", "question_order", "directions")
    return StudyDesign(
        items=None if outputs is None else len(outputs.items),
        kind=study.outputs.kind,
        item_kind=study.outputs.item_kind,
        directions=None if preferences is None else preferences.directions,
        scale_points=study.scale_points,
        counterbalanced=tuple(
            name
            for name in balanced
            if design.assignments is None
            and getattr(design, name) == "counterbalanced"
            and (name != "directions" or study.pairs)
        ),
        screening_questions=len(study.screening),
        attention_checks=len(study.attention_checks),
    )


def sources_of(annotators: pl.DataFrame) -> tuple[StudySource, ...]:
    """Count people by where they came from, most first, out of the table of annotators."""
    from spa.records.platforms import find_platform

    people = annotators.filter(pl.col("annotator_kind") == HUMAN)
    counted = people.group_by("source").agg(pl.len().alias("n")).sort("n", "source", descending=[True, False])
    found = [(source, find_platform(source), n) for source, n in counted.iter_rows()]
    return tuple(
        StudySource(source=source, recruited=None if platform is None else platform.recruited, annotators=n)
        for source, platform, n in found
    )


def median_minutes(annotators: pl.DataFrame) -> float | None:
    """Return people's median time in minutes; ``None`` where it is unknown."""
    seconds = annotators.filter(pl.col("annotator_kind") == HUMAN)["seconds"].median()
    return None if not isinstance(seconds, float) else round(seconds / 60, 1)


def bonuses_in_force(decided: Mapping[str, VisitDecisions]) -> tuple[str, ...]:
    """Return the amounts of reviewers' bonuses that stand, in major units, the smallest first."""
    amounts = (bonus.amount for one in decided.values() for bonus in one.bonuses if bonus.amount is not None)
    return tuple(map(str, sorted(amounts)))


def raters_of(study: Study) -> tuple[StudyRater, ...]:
    """Return how the study file has each LLM asked, variant by variant."""
    from spa.records.raters import rater_variants
    from spa.records.submission import SIMULATED_RATER

    return tuple(
        _rater(asked, simulated=rater.model == SIMULATED_RATER)
        for rater in study.raters
        for asked in rater_variants(rater)
    )


def _rater(asked: RaterVariant, *, simulated: bool) -> StudyRater:
    from spa.records.raters import ADDED

    protocol = asked.protocol
    return StudyRater(
        group=asked.name,
        model=asked.rater.model,
        simulated=simulated,
        conversation=protocol.conversation,
        answer_format=protocol.answer_format,
        readout=protocol.readout,
        repeats=protocol.repeats,
        attempts=protocol.attempts,
        temperature=protocol.temperature,
        top_p=protocol.top_p,
        seed=protocol.seed,
        token_limit=protocol.limit,
        reasoning_effort=protocol.reasoning_effort,
        persona=protocol.persona,
        frames_per_second=protocol.frames_per_second,
        read_more=tuple(key for key in ADDED if getattr(protocol, key) not in (None, "no", False)),
    )


def as_called(raters: Iterable[StudyRater], calls: CallIndex) -> Iterator[StudyRater]:
    """Add to each LLM what its calls on record say: who answered, and when."""
    for rater in raters:
        counts = calls.counts_of(rater.group)
        if rater.simulated or not counts:
            yield rater
            continue
        yield replace(
            rater,
            answered_by=tuple(sorted({name for count in counts for name in count.models})),
            first_call=_day(min(count.first for count in counts)),
            last_call=_day(max(count.last for count in counts)),
        )


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).date().isoformat()
