"""Signs of careless answering in a study's store, as the analysis finds them.

A package that looks for them registers a function of an open study as ``careless`` under ``spa.conclusions``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spa.study.answerable_questions import registered_conclusions

if TYPE_CHECKING:
    from spa.records.form import Form
    from spa.records.study import Study
    from spa.responses.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSign:
    """One person who shows a sign, and the evidence in words."""

    annotator_id: str
    sign: str
    evidence: str
    excluded_by: str | None  # rule of the plan that leaves the person out, for this or something else


@dataclass(frozen=True, slots=True, kw_only=True)
class SignCount:
    """How many people show one sign."""

    sign: str
    people: int
    not_checkable: int  # gave too little to judge by
    shown: int
    excluded: int  # of those who show it


@dataclass(frozen=True, slots=True, kw_only=True)
class SignsFound:
    """What was found; ``words`` is a sentence a group of people in which somebody shows a sign."""

    counts: tuple[SignCount, ...]
    shown: tuple[ShownSign, ...]
    words: tuple[str, ...]


def signs_found(study: Study, store: Store, form_of: Callable[[str], Form]) -> SignsFound:
    """Return the signs in the answers of a store; nothing while nobody has answered.

    ``form_of`` takes the id of an assignment and returns its form.
    """
    found: Mapping[str, SignsFound] = {
        point.name: point.load()(study, store, form_of) for point in registered_conclusions("careless")
    }
    return SignsFound(
        counts=tuple(row for each in found.values() for row in each.counts),
        shown=tuple(row for each in found.values() for row in each.shown),
        words=tuple(line for each in found.values() for line in each.words),
    )
