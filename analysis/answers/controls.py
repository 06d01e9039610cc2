"""Systems that are attention checks: their answers leave, and say who preferred a control to what it stood beside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.answers.orderings import ORDERING
from analysis.answers.scales import ELICITATION
from analysis.answers.span_tables import COUNTED
from analysis.answers.unnamed import is_nameless
from analysis.statistics.record import AnnotatorKind, Count, Record
from spa.errors import AnalysisError, ArgumentProblem, shortened

SIDES = ("system_x", "system_y")
WHOLE = (
    "metrics",
    "corpus_metrics",
    "outputs",
    "spans",
    "gambles",
)  # tables that controls leave without saying anything of a person
NEAR = 1e-9  # a score this little below the mean of others is at it
CALLED = frozenset(("spam", "control", "check", "attention", "tutorial", "bad"))
CHECK = re.compile(  # an item's name
    r"(?:attention|catch|trap|honeypot|sanity|quality)[\W_]*(?:check|trial|question|item|test)s?[\W_]*\d*"
    r"|(?:attention|trap|honeypot)[\W_]*\d*"
)
LETTERS = re.compile(r"[^\W\d_]+")
CHECKED = ("group", "annotator_id", "annotator_kind", "criterion", "system", "fewer", "ahead")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ControlAnswers:
    """What one table of answers says of the controls.

    ``answers`` is one row an answer about a control, with ``ahead``: its score less the mean of what the same person
    gave to the others of the item (of all items, where the control stood alone), or the share that it won less a half;
    ``fewer`` says that a low score is good whatever the plan says. ``ahead`` is null where there is nothing to compare.
    """

    source: str
    answers: pl.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ControlCheck(Record):
    """What one annotator answered about one control, a system that is an attention check."""

    source: str
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    annotator_id: str
    annotator_kind: AnnotatorKind
    system: str
    failed: Count
    """Answers in which the control was at or above what it stood beside."""
    total: Count
    """Answers that say so or not."""
    left_out: Count
    """Answers about the control, none of which is in a test or ranking."""


def called_control(system: str) -> bool:
    """Tell whether a system has a name that controls have.

    >>> called_control("spam"), called_control("newstest-tutorial1"), called_control("ControlNet")
    (True, True, False)
    """
    return not CALLED.isdisjoint(LETTERS.findall(system.lower()))


def is_check(item: str) -> bool:
    """Tell whether an item is called as attention checks are, and nothing else.

    >>> is_check("attention_check_1"), is_check("Trap question"), is_check("How does attention work?")
    (True, True, False)
    """
    return CHECK.fullmatch(item.lower()) is not None


def without_controls(
    tables: dict[str, pl.DataFrame], controls: Sequence[str]
) -> tuple[dict[str, pl.DataFrame], tuple[ControlAnswers, ...]]:
    """Take the controls out of all tables.

    Raises
    ------
    AnalysisError
        When no table names a control, or nothing else is left of one.
    """
    if not controls:
        return tables, ()
    _check_names(tables, controls)
    left, found = dict(tables), []
    for name, table in tables.items():
        concerned = _concerned(table, controls)
        if concerned is None:
            continue
        left[name] = table.filter(~concerned)
        if name not in WHOLE and table.filter(concerned).height:
            if left[name].is_empty():
                raise AnalysisError(f"--control: all answers of the {name} are about controls; expected others beside")
            found.append(ControlAnswers(source=name, answers=_compared(name, table, controls)))
    return left, tuple(found)


def _concerned(table: pl.DataFrame, controls: Sequence[str]) -> pl.Expr | None:
    columns = [name for name in ("system", *SIDES) if name in table.columns]
    return (
        pl.any_horizontal(pl.col(name).cast(pl.String).is_in(list(controls)) for name in columns) if columns else None
    )


def _check_names(tables: Mapping[str, pl.DataFrame], controls: Sequence[str]) -> None:
    there = {
        system
        for name, table in tables.items()
        if name not in WHOLE
        for column in ("system", *SIDES)
        if column in table.columns
        for system in table[column].cast(pl.String).unique().to_list()
    }
    unknown = [name for name in controls if name not in there]
    if unknown:
        after = f": no such system (there are: {shortened(', '.join(sorted(there)), 200)})"
        raise AnalysisError(
            *(
                ArgumentProblem("controls", in_python=f"={(name,)!r}", in_command=f" {shortened(name)}", after=after)
                for name in unknown
            )
        )


def _compared(source: str, table: pl.DataFrame, controls: Sequence[str]) -> pl.DataFrame:
    control = pl.col("system").is_in(list(controls))
    fewer = pl.lit(source == "orders")
    if "system" in table.columns:
        names = [name for name in {*ORDERING, "system", *CHECKED[:4]} if name in table.columns]
        table = table.with_columns(pl.col(sorted(names)).cast(pl.String))
        beside = [
            "group",
            *(name for name in ORDERING if source == "orders" or name not in ("assignment_id", "repeat")),
        ]
        real, own = pl.col("value").filter(~control), ("group", "annotator_id", "variant", "criterion")
        others = real.mean().over(beside)
        alone = real.mean().over(own) if source == "ratings" else pl.lit(None, dtype=pl.Float64)
        if source == "ratings":
            fewer = (pl.col("elicitation").cast(pl.String) == COUNTED).fill_null(False)
        compared = table.with_columns(ahead=pl.col("value") - pl.coalesce(others, alone), fewer=fewer)
        return compared.filter(control).select(CHECKED)
    x, y = (pl.col(side).is_in(list(controls)) for side in SIDES)
    won = pl.when(x & y).then(None).when(x).then("value").otherwise(1 - pl.col("value")) - 0.5
    system = pl.when(x).then("system_x").otherwise("system_y")
    return table.filter(x | y).with_columns(ahead=won, fewer=fewer, system=system).select(CHECKED)


def control_checks(controls: Iterable[ControlAnswers], lower_is_better: Iterable[str]) -> list[ControlCheck]:
    """Count by source, annotator and control the answers in which the control was at or above the others."""
    lower = list(lower_is_better)
    rows: list[ControlCheck] = []
    for control in controls:
        criterion = pl.col("criterion")
        low = pl.lit(control.source == "ratings") & (
            criterion.is_in(lower) | criterion.str.replace(ELICITATION.pattern, "").is_in(lower)
        )
        ahead = pl.when(low | pl.col("fewer")).then(-pl.col("ahead")).otherwise("ahead")
        counted = (
            control.answers.with_columns(pl.when(~is_nameless()).then("ahead").alias("ahead"))
            .group_by("group", "annotator_id", "annotator_kind", "system", maintain_order=True)
            .agg(failed=(ahead >= -NEAR).sum(), total=ahead.count(), left_out=pl.len())
        )
        rows += [ControlCheck(source=control.source, **row) for row in counted.to_dicts()]
    return rows
