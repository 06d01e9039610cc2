"""What came of computing figures again, as ``results.json`` holds it: counts, and what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.statistics.record import Count, Record
from analysis.verification.calls import CALLS, LIBRARIES, TOLERANCE, Reply, same
from analysis.verification.claims import WORDS, Claim, Left, Why

MOST_LISTED = 20  # figures that differ


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LibraryCount(Record):
    """How many figures one library computed again."""

    library: str
    version: str
    recomputed: Count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NotRecomputed(Record):
    """How many figures were not computed again, and why."""

    reason: str
    n: Count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FigureDifference(Record):
    """A figure that a library computes otherwise."""

    path: str
    """Where it stands in this file."""
    figure: float
    recomputed: float | None
    """Null: the library gives no finite number."""
    call: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Verification(Record):
    """P-values, strengths and kappas computed again by libraries."""

    figures: Count
    """All of them."""
    recomputed: Count
    tolerance: float
    """Of p-values relative, down to 1e-6; of strengths and kappas absolute."""
    libraries: tuple[LibraryCount, ...]
    not_recomputed: tuple[NotRecomputed, ...]
    n_different: Count
    """Figures beyond the tolerance."""
    differences: tuple[FigureDifference, ...]
    """The first 20 of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What rooms claimed of results, what nobody computes again, and how many figures there are."""

    claims: tuple[Claim, ...]
    left: tuple[Left, ...]
    n_figures: int


def outcome_of(gathered: Gathered, replies: Sequence[Reply], versions: Mapping[str, str]) -> Verification:
    """Compare figures with what libraries replied, claim by claim."""
    by_library: Counter[str] = Counter()
    why: Counter[Why] = Counter()
    for one in gathered.left:
        why[one.why] += len(one.paths)
    different: list[FigureDifference] = []
    for claim, reply in zip(gathered.claims, replies, strict=True):
        if isinstance(reply, str):
            why[reply] += len(claim.paths)
            continue
        call = CALLS[claim.call]
        by_library[call.library] += len(claim.paths)
        different += _differences(claim, call.name, reply, absolute=call.absolute)
    return Verification(
        figures=gathered.n_figures,
        recomputed=by_library.total(),
        tolerance=TOLERANCE,
        libraries=tuple(
            LibraryCount(library=name, version=versions[name], recomputed=by_library[name])
            for name in LIBRARIES
            if by_library[name]
        ),
        not_recomputed=tuple(NotRecomputed(reason=words, n=why[code]) for code, words in WORDS.items() if why[code]),
        n_different=len(different),
        differences=tuple(different[:MOST_LISTED]),
    )


def _differences(claim: Claim, call: str, reply: Sequence[float], *, absolute: bool) -> Iterable[FigureDifference]:
    for path, figure, again in zip(claim.paths, claim.figures, reply, strict=True):
        if not same(figure, again, absolute=absolute):
            finite = again == again and abs(again) != float("inf")
            yield FigureDifference(path=path, figure=figure, recomputed=again if finite else None, call=call)
