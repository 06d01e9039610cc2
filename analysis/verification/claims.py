"""What rooms hand over: figures of ``results.json``, each with the numbers that a library computes it from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

Why = Literal[
    "bound",
    "clustered",
    "copy",
    "choix_weights",
    "crossed",
    "drawn",
    "file",
    "in_parts",
    "many_answers",
    "many_systems",
    "no_call",
    "no_process",
    "not_converged",
    "not_installed",
    "ordinal",
    "perfect",
    "regularised",
    "sampled",
    "ties",
    "turned",
    "weighed",
    "welch_margin",
    "williams",
    "wilcoxon_ties",
    "within",
]
WORDS: Final[Mapping[Why, str]] = {
    "bound": "a bound on the chance of unanimous answers, which no library has",
    "clustered": "clustered with other degrees of freedom than statsmodels has (CR2)",
    "copy": "stands in another place as well",
    "choix_weights": "rankings that count differently or hold ties, which choix does not take",
    "drawn": "a share of simulated draws, or a corrected test that stands elsewhere",
    "crossed": "clustered twice with Satterthwaite's degrees of freedom, which statsmodels lacks",
    "file": "read from a file",
    "in_parts": "answers read in parts, whose sums no library takes",
    "many_answers": "more than 200,000 answers, of which `--verify strict` takes a sample",
    "many_systems": "more systems than choix fits in a moment",
    "no_call": "no room says how",
    "no_process": "the process that computes them again ended",
    "not_converged": "a library did not converge",
    "not_installed": "a library is not installed",
    "ordinal": "the ordinal model clustered by unit, which statsmodels lacks",
    "perfect": "a correlation so close to 1 that rounding decides",
    "regularised": "fitted with wins added",
    "sampled": "left out of the sample",
    "ties": "ties as an outcome, which choix does not take",
    "turned": "kappa of two outputs whose order is chance, which statsmodels lacks",
    "weighed": "a t-test in which annotators weigh the same, which scipy lacks",
    "williams": "Williams's test of two correlations, which no library has",
    "welch_margin": "Welch's test against a margin",
    "within": "clustered least squares that does not count annotators' means, which statsmodels does",
    "wilcoxon_ties": "signed ranks with ties or zeros of more than 13 values, of which scipy approximates p",
}
assert WORDS.keys() == {*get_args(Why)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Claim:
    """Figures that one call of a library computes together.

    Attributes
    ----------
    call : str
        Name among :data:`analysis.verification.calls.CALLS`.
    paths : tuple of str
        Where the figures stand in ``results.json``: ``preferences[0].p_value``.
    figures : tuple of float
        What stands there.
    numbers : mapping
        What the call takes, plain numbers and arrays.
    """

    call: str
    paths: tuple[str, ...]
    figures: tuple[float, ...]
    numbers: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Figures that no library computes, and why."""

    paths: tuple[str, ...]
    why: Why


Claims: TypeAlias = Iterator[Claim | Left]


class NotComputedError(Exception):
    """A library cannot compute a claim."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why = why


def figure(row: Any, name: str, place: str, call: str, **numbers: Any) -> Claims:
    """Claim one number of a row, if it has it; ``place`` is where the row stands."""
    value = getattr(row, name)
    if value is not None:
        yield Claim(call=call, paths=(f"{place}.{name}",), figures=(value,), numbers=numbers)


def left(row: Any, name: str, place: str, why: Why) -> Claims:
    """Say of one number of a row that no library computes it, if the row has it."""
    if getattr(row, name) is not None:
        yield Left(paths=(f"{place}.{name}",), why=why)


def places(key: str, rows: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a key, each with where it stands."""
    return ((f"{key}[{number}]", row) for number, row in enumerate(rows))


def corrected(
    members: Iterable[tuple[str, Any]],
    correction: str,
    *,
    raw: str = "p_value",
    adjusted: str = "p_adjusted",
    n_tests: int | None = None,
) -> Claims:
    """Claim the corrected p-values of one family; its size where rows do not say it (``n_tests``)."""
    own = [(place, row) for place, row in members if getattr(row, adjusted) is not None]
    if own:
        sizes = [getattr(row, "n_tests", None) for _, row in own] if raw == "p_value" else []
        yield Claim(
            call="multipletests",
            paths=tuple(f"{place}.{adjusted}" for place, _ in own),
            figures=tuple(getattr(row, adjusted) for _, row in own),
            numbers={
                "p_values": [getattr(row, raw) for _, row in own],
                "correction": correction,
                "n_tests": max(len(own), n_tests or 0, *(size or 0 for size in sizes)),
            },
        )
