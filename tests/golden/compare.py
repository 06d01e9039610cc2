"""Leaves of the file of reference numbers, what each is, and whether a computed one agrees."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Path = tuple[str, ...]
Figure = tuple[Path, Any]  # where it stands in the file, and what was computed

RELATIVE, ABSOLUTE = 1e-9, 1e-12
DESCRIPTIVE = {"n_rows", "n_items", "n_rows_ratings", "_versions", "systems", "criteria", "raters", "x", "y"}
DESCRIPTIVE |= {"criterion", "other"}  # which pair or measure a row is about
PRINTED = {"check_against_published", "check_notebook_ac1_2_digits", "paper_error_rate_percent"}
PLAIN = {"without_rounding", "r_without_rounding"}
WHY_PLAIN = (
    "the value without rounding: ties of means then hang on the order of a floating-point sum, "
    "which this package rounds away"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far a computed figure may lie from the reference, and why that far."""

    relative: float
    absolute: float
    why: str


EXACT = Tolerance(relative=RELATIVE, absolute=ABSOLUTE, why="nine digits; 1e-12 for what is 0 but for rounding")
P_VALUE = Tolerance(relative=RELATIVE, absolute=1e-300, why="p-values: nine digits however small they are")
FIVE = Tolerance(relative=0.0, absolute=5.001e-6, why="the source library rounded to 5 decimals")
TWO = Tolerance(relative=0.0, absolute=5.001e-3, why="the source library rounded to 2 decimals")
LOST = Tolerance(
    relative=RELATIVE,
    absolute=1e-8,
    why="CIDEr holds values like 1e-318, from which the source's mean loses digits",
)


def tolerance_of(path: Path) -> Tolerance:
    """Choose by what the file says of the figure.

    >>> tolerance_of(("hanna", "x", "ICC1", "ci95", "0")).absolute
    0.005001
    """
    last = path[-1]
    if "ci95" in path:
        return TWO
    if path[0] == "hanna_user_study" and ({"gwet_ci95"} & set(path) or last.startswith(("gwet_", "fleiss_"))):
        return FIVE
    if last == "p" or last.startswith("p_") or last.endswith("_p"):
        return P_VALUE
    if "CIDEr" in path and "per_prompt" in path and last == "pearson":
        return LOST
    return EXACT


@dataclass(slots=True)
class Block:
    """What became of the leaves of one block."""

    within: Counter[str] = field(default_factory=Counter)  # agreeing, by tolerance
    differing: list[str] = field(default_factory=list)
    not_computed: Counter[str] = field(default_factory=Counter)
    no_figure: int = 0

    @property
    def agreeing(self) -> int:
        """Number of leaves that agree."""
        return self.within.total()


def leaves(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every leaf with its place.

    >>> dict(leaves({"a": [1, None]}))
    {('a', '0'): 1, ('a', '1'): None}
    """
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from leaves(value, (*path, str(key)))
    elif isinstance(node, list):
        for place, value in enumerate(node):
            yield from leaves(value, (*path, str(place)))
    else:
        yield path, node


def same(found: Any, wanted: Any, tolerance: Tolerance) -> bool:
    """Compare one figure; ``None`` agrees with ``None`` only."""
    if found is None or wanted is None or isinstance(wanted, bool | str):
        return bool(found == wanted)
    return math.isclose(found, wanted, rel_tol=tolerance.relative, abs_tol=tolerance.absolute)


def block_of(path: Path) -> str:
    """Name the block that a leaf is counted in.

    >>> block_of(("sottana", "summarization", "per_criterion", "fluency", "mean", "gpt4", "x"))
    'sottana summarization mean'
    """
    if path[0] == "sottana" and path[2:3] == ("per_criterion",):
        return f"sottana {path[1]} {path[4]}"
    depth = {"sottana": 3, "hanna": 2, "hanna_user_study": 1}.get(path[0], 1)
    return " ".join(path[:depth])


def compare(expected: Mapping[str, Any], computed: Iterable[Figure]) -> dict[str, Block]:
    """Account for every leaf of the reference numbers.

    Parameters
    ----------
    expected : mapping
        The file of reference numbers.
    computed : iterable of (path, value)
        Figures computed from the raw files.

    Returns
    -------
    dict of str to Block
        In the order of the file. A leaf that nobody computed and no rule explains, and a figure that the
        file does not hold, count as differing.
    """
    found = dict(computed)
    blocks: dict[str, Block] = {}
    for path, wanted in leaves(expected):
        block = blocks.setdefault(block_of(path), Block())
        names, place = set(path), " / ".join(path)
        if path in found:
            value = found.pop(path)
            tolerance = tolerance_of(path)
            if same(value, wanted, tolerance):
                block.within[tolerance.why] += 1
            else:
                block.differing.append(f"{place}: {value!r} instead of {wanted!r}")
        elif names & PRINTED or path[-1] in DESCRIPTIVE or set(path[:-1]) & DESCRIPTIVE:
            block.no_figure += 1
        elif names & PLAIN:
            block.not_computed[WHY_PLAIN] += 1
        else:
            block.differing.append(f"{place}: nothing was computed, expected {wanted!r}")
    for path in found:
        blocks.setdefault(block_of(path), Block()).differing.append(
            f"{' / '.join(path)}: the file holds no such figure"
        )
    return blocks
