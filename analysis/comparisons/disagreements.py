"""What was expected and found, and where two sources or groups do not say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.answers.columns import OVERALL
from analysis.answers.plan import Expectation, Plan
from analysis.comparisons.hypothesis_families import ComparedPair
from analysis.statistics.corrections import TURNED, Verdict, reaches
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Probability, Record, Source
from spa.errors import AnalysisError

NOT_COMPARED = why("not_compared")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExpectedRow(Record):
    """What was expected of a pair, and what one source and group found."""

    source: Source
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str | None = None
    exposure: int | None = None
    system_x: str
    system_y: str
    expected: Verdict
    found: Verdict | None
    """X: system_x is preferred, by the test or where answers are unanimous (p_unanimous); null where neither says."""
    recovered: bool
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DisagreeingVerdict(Record):
    """What one source and group found, where others found something else."""

    source: Source
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    exposure: int | None = None
    verdict: Verdict
    p_adjusted: Probability | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Disagreement(Record):
    """A pair on which two sources or groups come to different verdicts."""

    criterion: str
    system_x: str
    system_y: str
    verdicts: tuple[DisagreeingVerdict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The verdict of one test, whatever its source."""

    source: Source
    group: str
    criterion: str
    exposure: int | None
    system_x: str
    system_y: str
    verdict: Verdict | None
    p_adjusted: float | None
    reason: Reason | None

    def towards(self, x: str, y: str) -> Finding | None:
        """Return the finding for the pair (x, y), turned if need be; ``None`` for another pair."""
        if (self.system_x, self.system_y) == (x, y):
            return self
        if (self.system_x, self.system_y) != (y, x):
            return None
        return replace(self, system_x=x, system_y=y, verdict=TURNED[self.verdict])


def findings_of(source: Source, rows: Sequence[ComparedPair], plan: Plan) -> list[Finding]:
    """Take the verdicts out of the tests of one source.

    Unanimous answers whose bound is at most the error rate of the family find who is preferred, as a test does.
    """
    found = []
    for row in rows:
        verdict, p_adjusted = row.verdict, row.p_adjusted
        bound, effect = getattr(row, "p_unanimous", None), getattr(row, "effect", 0.0)
        if bound is not None and reaches(bound, plan.fwer):
            turned = source == "ratings" and row.criterion in plan.lower_is_better
            verdict, p_adjusted = "x" if (effect > 0) != turned else "y", bound
        found.append(_finding(source, row, verdict, p_adjusted))
    return found


def _finding(source: Source, row: ComparedPair, verdict: Verdict | None, p_adjusted: float | None) -> Finding:
    return Finding(
        source=source,
        group=row.group,
        criterion=row.criterion,
        exposure=getattr(row, "exposure", None),
        system_x=row.system_x,
        system_y=row.system_y,
        verdict=verdict,
        p_adjusted=p_adjusted,
        reason=row.reason,
    )


def compare_with_expected(findings: Sequence[Finding], expected: Sequence[Expectation]) -> list[ExpectedRow]:
    """Say for each expectation, source and group whether it was recovered.

    An expectation is about the overall preference where a source and group has one, else about
    every criterion; "x ~ y" is recovered by "indifferent".

    Raises
    ------
    AnalysisError
        When an expectation names a system that no test has.
    """
    systems = {name for row in findings for name in (row.system_x, row.system_y)}
    unknown = [row for row in expected if findings and not {row.system_x, row.system_y} <= systems]
    if unknown:
        raise AnalysisError(
            *(
                f"expected {row.system_x!r} and {row.system_y!r}: systems compared are {', '.join(sorted(systems))}"
                for row in unknown
            )
        )
    found = []
    for source, group in dict.fromkeys((row.source, row.group) for row in findings):
        own = [row for row in findings if (row.source, row.group) == (source, group)]
        own = [row for row in own if row.criterion == OVERALL] or own
        for expectation in expected:
            x, y = expectation.system_x, expectation.system_y
            turned = [row for row in (row.towards(x, y) for row in own) if row is not None]
            found += [_compared(source, group, expectation, row) for row in turned or (None,)]
    return found


def _compared(source: Source, group: str, expectation: Expectation, row: Finding | None) -> ExpectedRow:
    return ExpectedRow(
        source=source,
        group=group,
        criterion=row.criterion if row else None,
        exposure=row.exposure if row else None,
        system_x=expectation.system_x,
        system_y=expectation.system_y,
        expected=expectation.expected,
        found=row.verdict if row else None,
        recovered=row is not None and row.verdict == expectation.expected,
        reason=row.reason if row else NOT_COMPARED,
    )


def find_disagreements(findings: Sequence[Finding]) -> list[Disagreement]:
    """List the pairs on which two sources or groups come to different verdicts on the same criterion."""
    pairs: dict[tuple[str, frozenset[str]], list[Finding]] = {}
    for row in findings:
        if row.verdict is not None:
            pairs.setdefault((row.criterion, frozenset((row.system_x, row.system_y))), []).append(row)
    found = []
    for (criterion, _), rows in pairs.items():
        x, y = rows[0].system_x, rows[0].system_y
        turned = [row for row in (row.towards(x, y) for row in rows) if row is not None]
        verdicts: dict[tuple[str, str], set[Verdict | None]] = {}
        for row in turned:
            verdicts.setdefault((row.source, row.group), set()).add(row.verdict)
        if len(set(map(frozenset, verdicts.values()))) < 2:
            continue
        different = tuple(
            DisagreeingVerdict(
                source=row.source,
                group=row.group,
                exposure=row.exposure,
                verdict=row.verdict,
                p_adjusted=row.p_adjusted,
            )
            for row in turned
            if row.verdict is not None
        )
        found.append(Disagreement(criterion=criterion, system_x=x, system_y=y, verdicts=different))
    return found
