"""``spa report --verify``: figures computed again by libraries, beside the rendering."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.errors import AnalysisError

if TYPE_CHECKING:
    from analysis.records.results import Results
    from analysis.verification.process import Verifier

MODES = ("on", "strict", "off")
LARGE = 1 << 22  # bytes of tables above which most figures need too many answers to be computed again


def verify_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--verify`` and ``--no-verify``."""
    mode = click.option(
        "--verify",
        type=click.Choice(MODES),
        default="on",
        show_default=True,
        envvar="SPA_VERIFY",
        show_envvar=True,
        help="Compute p-values, strengths and kappas again by scipy, statsmodels and choix; strict: exit 1 where one "
        "differs.",
    )
    return mode(click.option("--no-verify", is_flag=True, help="The same as --verify off.")(command))


def are_small(files: Iterable[str | Path]) -> bool:
    """Tell whether most figures of tables can be computed again, so that all libraries are needed."""
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file)) <= LARGE


@contextmanager
def verifying(mode: str, *, no_verify: bool, now: bool) -> Iterator[Verifier | None]:
    """Give what computes figures again, ``None`` where it is off; ``now``: the libraries are loaded from now on."""
    if no_verify and mode == "strict":
        raise click.UsageError("--verify strict or --no-verify, not both")
    if no_verify or mode == "off":
        yield None
        return
    from analysis.verification.process import Verifier

    with Verifier(thorough=mode == "strict") as verifier:
        if now:
            verifier.load()
        yield verifier


def verified(results: Results, verifier: Verifier | None) -> Results:
    """Wait for what came of it, and put it into the results."""
    if verifier is None:
        return results
    from analysis.results.verified import gather, with_verification

    if not verifier.started:  # answers in parts
        verifier.start(gather(results, None))
    return with_verification(results, verifier.finish())


def refuse_differences(results: Results, mode: str) -> None:
    """Under ``--verify strict``, end with an error where a figure differs, or none could be computed again."""
    found = results.verification
    if mode != "strict" or found is None:
        return
    if found.n_different:
        first = found.differences[0]
        raise AnalysisError(
            f"--verify strict: {found.n_different} of {found.recomputed} figures differ from what libraries compute; "
            f"{first.path}: expected {first.recomputed} ({first.call}), got {first.figure}; do not use this report"
        )
    if found.figures and not found.recomputed:
        why = "; ".join(row.reason for row in found.not_recomputed)
        raise AnalysisError(f"--verify strict: none of {found.figures} figures was computed again: {why}")
