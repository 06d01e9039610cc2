"""Systems that are attention checks: who preferred them, and which systems look like some that nobody named."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from analysis.answers.controls import ControlCheck, called_control
from analysis.printing.words import listed, plural
from analysis.records.overview import WarningRow
from analysis.records.results import Results
from analysis.strengths.fit import DENSE
from spa.errors import shortened

NEARLY_ALWAYS = 0.9  # share won or lost against a single opponent
FEWEST = 10  # answers from which on that is told
SHOWN = 3


def about_controls(results: Results) -> Iterator[WarningRow]:
    """Say what the controls left out and who failed them, and which other systems look like controls."""
    if results.controls:
        yield WarningRow(kind="controls", group=None, text=_failed(results))
    if results.study is not None:
        return
    doubts = _alike(results)
    if doubts:
        systems = [system for system, _ in doubts]
        options = " ".join(f"--control {shlex.quote(shortened(system, 40))}" for system in systems[:SHOWN])
        more = f"; and {len(doubts) - SHOWN} more" if len(doubts) > SHOWN else ""
        said = "; ".join(f"{shortened(system, 40)} ({why})" for system, why in doubts[:SHOWN])
        text = (
            f"looks like an attention check and is ranked as a system: {said}{more}. If so, take it out with {options}."
        )
        yield WarningRow(kind="control_like", group=None, text=text)


def _failed(results: Results) -> str:
    checks, allowed = results.controls, results.settings.max_failed_controls
    systems = listed([*dict.fromkeys(shortened(row.system, 40) for row in checks)])
    n = sum(row.left_out for row in checks)
    people = Counter(row.annotator_id for row in checks)
    failed: dict[str, list[ControlCheck]] = {}
    for row in checks:
        if row.failed:
            failed.setdefault(row.annotator_id, []).append(row)
    if not any(row.total for row in checks):
        return f"controls ({systems}): {plural(n, 'answer is', 'answers are')} in no test or ranking."
    start = f"controls ({systems}): {plural(n, 'answer is', 'answers are')} in no test or ranking; "
    if not failed:
        return f"{start}none of {plural(len(people), 'annotator')} failed one."
    worst = sorted(failed, key=lambda one: (-sum(row.failed for row in failed[one]), one))
    shown = "; ".join(f"{shortened(one, 40)} {_counted(failed[one])}" for one in worst[:SHOWN])
    more = f"; {len(worst) - SHOWN} more" if len(worst) > SHOWN else ""
    leave = (
        " Nobody left for it (--max-failed-checks N leaves out who failed more than N)."
        if allowed is None
        else f" Who failed more than {allowed} checks left."
    )
    return f"{start}{len(failed)} of {plural(len(people), 'annotator')} failed some ({shown}{more}).{leave}"


def _counted(rows: Sequence[ControlCheck]) -> str:
    return f"{sum(row.failed for row in rows)} of {sum(row.total for row in rows)}"


def _alike(results: Results) -> list[tuple[str, str]]:
    """Return the systems that look like controls, each with what says so."""
    if len({row.system for row in results.bradley_terry}) > DENSE:  # not all pairs of many systems have rows
        names = sorted({row.system for row in results.bradley_terry})
        return [(name, "by its name") for name in names if called_control(name)]
    met: dict[str, dict[str, list[tuple[int, float]]]] = {}  # system -> opponent -> answers and share won
    pairs = [(row.system_x, row.system_y, row.n_answers or row.n, row.win_rate) for row in results.choices.pairs]
    pairs += [(row.system_x, row.system_y, row.n, row.mean) for row in results.preferences if row.mean is not None]
    for x, y, n, share in pairs:
        met.setdefault(x, {}).setdefault(y, []).append((n, share))
        met.setdefault(y, {}).setdefault(x, []).append((n, 1 - share))
    rated = {row.system: None for row in results.ratings.means}
    found = [(system, "by its name") for system in sorted({*met, *rated}) if called_control(system)]
    for system, opponents in met.items():
        if len(met) < 3 or len(opponents) > 1 or called_control(system):
            continue
        [(opponent, answers)] = opponents.items()
        n = sum(count for count, _ in answers)
        share = sum(count * won for count, won in answers) / n
        baseline = len(met) > 3 and len(met[opponent]) == len(met) - 1  # everybody met it, by design
        if n >= FEWEST and not 1 - NEARLY_ALWAYS < share < NEARLY_ALWAYS and len(met[opponent]) > 1 and not baseline:
            outcome = "lost" if share < 0.5 else "won"
            found.append((system, f"met {shortened(opponent, 40)} alone and {outcome} nearly always"))
    return found
