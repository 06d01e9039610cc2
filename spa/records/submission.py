"""What came back from one annotator: accepted answers and missing ones, each beside its raw form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spa.records.form import Target

AnnotatorKind = Literal["human", "llm", "simulated"]
SIMULATED_RATER = "simulated-rater"  # model, and by default id, of the rater that rehearsals ask in an LLM's place


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One accepted answer.

    ``value`` is a preference probability in [0, 1], a rating in the units of its scale, or the
    value of the chosen option; ``raw`` is what arrived, verbatim. ``readings_differ`` says whether another way of
    reading the same reply of an LLM gives another answer, or none; ``None`` where there is no other.
    """

    question_id: str
    target: Target
    value: float | str
    raw: str
    readings_differ: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A question without a usable answer, and why; ``raw`` keeps what arrived, if anything did.

    ``level`` is what the answer would have been, where that is known: "7" of 1 to 5, or "4 or 5".
    ``readings_differ`` is that of a ``Response``.
    """

    question_id: str
    target: Target
    reason: str
    raw: str | None
    level: str | None = None
    readings_differ: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterCondition:
    """How an LLM was asked: what sets one visit of a rater apart from another.

    ``form`` says whether it read what people read ("identical") or more ("variant"). ``fingerprint``
    is that of everything that may change an answer.
    """

    variant: str | None
    repeat: int  # 1, 2, ...
    readout: Literal["verbalised", "logit"]
    form: Literal["identical", "variant"]
    fingerprint: str
    probe: str | None = None  # a visit that tries the rater out and gives no answers of the study


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """Everything that one annotator answered in one visit, in the order of the form."""

    submission_id: str
    assignment_id: str
    annotator_id: str  # the person (keyed hash), or the rater's id
    annotator_kind: AnnotatorKind
    source: str  # a platform's name, "simulated", "rater", ...
    answers: tuple[Response | Missing, ...]
    seconds: float | None = None  # from the first page shown to the last answer
    asked: RaterCondition | None = None  # of an LLM
    session: int = 1  # of a study in several
    people_group: str | None = None  # quota group
    outcome: str = "completed"
    extra: bool = False  # completed when the place was somebody else's
