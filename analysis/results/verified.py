"""Figures handed to :mod:`analysis.verification`, of all rooms, and what came of it put into results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b

from analysis import rooms
from analysis.contribution import Analysis, Checked
from analysis.records.results import Results
from analysis.records.row_tables import with_rows
from analysis.results.headline import headline_of
from analysis.results.verdicts import as_decided
from analysis.verification.claims import Claim, Left, Why
from analysis.verification.figures import figures_of
from analysis.verification.outcome import Gathered, Verification

MOST_FIGURES = 5_000  # of larger results a sample is computed again
MOST_ANSWERS = 200_000  # of larger tables too, and none where that is not asked for
FILES = ("exploration.", "contamination")  # what other commands found
WHOLE = 1 << 32
COPIES = ("headline.", "disagreements[", "observed_power[")  # figures of other keys, once more


def gather(results: Results, analysis: Analysis | None, *, thorough: bool = False) -> Gathered:
    """Return what rooms claim of finished results, and why figures are left out.

    Every p-value, strength and kappa is in one of both. Of more than 5,000 figures a sample is taken, drawn by the
    contents of the files that were read. Figures that need the answers themselves are left out above 200,000 answers;
    where it is to be ``thorough`` a sample of them is taken, too.
    """
    figures = figures_of(results)
    n_answers = 0 if analysis is None else _answers(analysis)
    many = n_answers > MOST_ANSWERS and not thorough
    wanted = _sample(results, len(figures), 0 if many else n_answers)
    analysis = None if many else analysis
    checked = Checked(results=results, analysis=analysis, wanted=wanted)
    claims, left, open_paths = [], [], dict(figures)
    for one in _claims(checked):
        known = [path for path in one.paths if path in open_paths]
        assert len(known) == len(one.paths), f"claimed twice, or no figure: {one.paths}"
        for path in known:
            del open_paths[path]
        if isinstance(one, Left):
            left.append(one)
        elif wanted(one.paths[0]):
            claims.append(one)
        else:
            left.append(Left(paths=one.paths, why="sampled"))
    otherwise: Why = "many_answers" if many else "in_parts" if analysis is None else "no_call"
    left += [Left(paths=(path,), why=_otherwise(path, wanted, otherwise)) for path in open_paths]
    return Gathered(claims=tuple(claims), left=tuple(left), n_figures=len(figures))


def _claims(checked: Checked) -> Iterator[Claim | Left]:
    for room in rooms.CONTRIBUTIONS:
        if room.claims is not None:
            yield from room.claims(checked)


def _otherwise(path: str, wanted: Callable[[str], bool], otherwise: Why) -> Why:
    """Return why no room claimed a figure."""
    if path.startswith(COPIES):
        return "copy"
    if path.startswith(FILES):
        return "file"
    if not wanted(path):
        return "sampled"
    return otherwise


def _answers(analysis: Analysis) -> int:
    return sum(len(table) for table in analysis.prepared.answers.values())


def _sample(results: Results, n_figures: int, n_answers: int) -> Callable[[str], bool]:
    share = min(MOST_FIGURES / max(n_figures, 1), MOST_ANSWERS / max(n_answers, 1))
    if share >= 1:
        return lambda path: True
    key = blake2b("".join(sorted(str(entry.sha256) for entry in results.settings.inputs)).encode()).digest()

    def wanted(path: str) -> bool:
        drawn = blake2b(path.encode(), digest_size=4, key=key).digest()
        return int.from_bytes(drawn, "big") < share * WHOLE

    return wanted


def with_verification(results: Results, verification: Verification) -> Results:
    """Put the outcome into results; what differs becomes the first caveat."""
    results = replace(results, verification=verification)
    if verification.n_different:
        results = replace(results, headline=headline_of(as_decided(results)))
    return with_rows(results)
