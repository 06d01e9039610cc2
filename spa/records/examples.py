"""Answered examples: what people said of some items, shown to a rater that is asked about all others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleAnswer:
    """What people answered to one question; ``value`` is as a page sends it, never a person's own words."""

    table: str  # key of the way of asking
    criterion: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredExample:
    """One output, or two between which people chose, with their answers; systems are named here and never shown."""

    kind: Literal["rating", "choice"]
    item_id: str
    outputs: tuple[tuple[str, int], ...]  # system and sample, in the order shown
    answers: tuple[ExampleAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleSet:
    """The items about which a rater is not asked, and the examples, which are of these items alone."""

    apart: frozenset[str]
    shown: tuple[AnsweredExample, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an example of an item that is asked about."""
        if leaked := [one.item_id for one in self.shown if one.item_id not in self.apart]:
            raise ValueError(f"an example of item {leaked[0]!r}, which is asked about")


def items_apart(item_ids: Iterable[str], *, seed: int, share: float) -> frozenset[str]:
    """Return the items that are set apart for examples: decided by the seed and the share, by no answer or rater.

    At least one is, and at least one is not; a larger share holds all those of a smaller one.

    >>> sorted(items_apart(["a", "b", "c", "d"], seed=1, share=0.5))
    ['b', 'c']
    """
    ranked = sorted({*item_ids}, key=lambda item: digest_of(seed, "apart", item))
    return frozenset(ranked[: min(max(1, int(share * len(ranked) + 1e-9)), len(ranked) - 1)])


def digest_of(seed: int, *names: object) -> bytes:
    """Return what puts names into an order of their own for a seed."""
    return sha256("\n".join(map(str, (seed, "examples", *names))).encode("utf-8", "surrogatepass")).digest()
