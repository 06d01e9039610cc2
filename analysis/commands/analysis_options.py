"""Options of ``spa report`` that set the analysis plan for tables from elsewhere, as [analysis] does for a study."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analysis.commands.judge_options import OPTIONS as JUDGE_OPTIONS
from analysis.commands.judge_options import judges_of
from spa.commands.options import INPUT, Aliased, Finite

if TYPE_CHECKING:
    from analysis.answers.plan import Plan

Command = TypeVar("Command", bound=Callable[..., Any])
SHARE = Finite(0, 1, min_open=True, max_open=True)
MARGINS = {"equivalence": "equivalence_margin", "equivalence_ratings": "equivalence_margin_ratings"}


class Tau(click.ParamType[Decimal]):
    """A decimal between 1 and 2."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """Read the decimal as written: 1.1 is exactly 1.1."""
        try:
            tau = Decimal(value)
        except InvalidOperation:
            self.fail(f"expected a number from 1 to 2, got {value!r}", param, ctx)
        if not (tau.is_finite() and 1 <= tau <= 2):
            self.fail(f"expected a number from 1 to 2, got {value!r}", param, ctx)
        return tau


OPTIONS = (
    click.option(
        "--lower-is-better", multiple=True, metavar="NAME", help="Criterion where a low rating is better; repeatable."
    ),
    click.option("--expected", multiple=True, metavar='"X > Y"', help='Expected preference, or "X ~ Y"; repeatable.'),
    click.option(
        "--pair",
        "pairs",
        nargs=2,
        multiple=True,
        metavar="X Y",
        help="Pair of systems compared; repeatable. [those of the preferences, else expected, else all]",
    ),
    click.option("--pairs", "pairs_file", type=INPUT, help="Table of the pairs compared: system_x, system_y."),
    click.option(
        "--reference",
        "references",
        multiple=True,
        metavar="SYSTEM",
        help="System that metrics compare the others with, left out of their correlations; repeatable.",
    ),
    *JUDGE_OPTIONS,
    click.option("--fwer", type=SHARE, help="Error rate of each family of tests.  [0.05]"),
    click.option(
        "--consistency-tau",
        cls=Aliased,
        aliases=("--tau",),
        type=Tau(),
        help="Maximum of P(x>y) + P(y>x); annotators above it are excluded.  [1.1]",
    ),
    click.option("--keep-inconsistent", is_flag=True, help="Exclude nobody for inconsistent answers."),
    click.option("--confidence", type=SHARE, help="Confidence level of intervals.  [0.95]"),
    click.option("--family", type=click.Choice(["criterion", "all"]), help="Tests corrected together.  [criterion]"),
    click.option(
        "--correction",
        type=click.Choice(["holm", "bh"]),
        help="Holm, or Benjamini-Hochberg (false discoveries).  [holm]",
    ),
    click.option(
        "--unit", type=click.Choice(["auto", "annotator", "item"]), help="Unit that tests generalise over.  [auto]"
    ),
    click.option(
        "--rating-test",
        type=click.Choice(["auto", "welch"]),
        help="Paired test where items are shared, or Welch.  [auto]",
    ),
    click.option("--max-failed-checks", type=click.IntRange(min=0), help="Attention checks that may be failed.  [0]"),
    click.option(
        "--min-outputs-seen", type=Finite(0, 1, min_open=True), help="Share of outputs that a person must have seen."
    ),
    click.option(
        "--max-words-per-minute", type=Finite(0, min_open=True), help="Fastest reading allowed, in words a minute."
    ),
    click.option(
        "--max-same-answers", type=Finite(0.5, 1, max_open=True), help="Share of answers that may be the same."
    ),
    click.option(
        "--post-screening",
        type=click.Choice(["bs1534", "p808"]),
        multiple=True,
        help="Leave out listeners by BS.1534-3 (hidden reference, mid anchor), or sessions of equal votes (P.808); "
        "repeatable.",
    ),
    click.option(
        "--repeat-submissions",
        type=click.Choice(["exclude", "first"]),
        help="Repeated submissions of one annotator.  [exclude]",
    ),
    click.option(
        "--extra-answers",
        type=click.Choice(["exclude", "keep"]),
        help="Late submissions after reassignment.  [exclude]",
    ),
    click.option(
        "--incomplete-answers", type=click.Choice(["exclude", "keep"]), help="Incomplete submissions.  [exclude]"
    ),
    click.option(
        "--regularisation", type=Finite(0, min_open=True), help="Pseudo-wins added to every pair (Bradley-Terry)."
    ),
    click.option(
        "--epsilon",
        type=Finite(0, 1, max_open=True),
        help="Margin by which an LLM may be worse than a person: 0.2 for experts, 0.15 skilled, 0.1 crowds.  [0.1]",
    ),
    click.option(
        "--equivalence",
        type=Finite(0, 0.5, min_open=True, max_open=True),
        metavar="MARGIN",
        help="Test whether preferences and choices lie within MARGIN of 0.5.",
    ),
    click.option(
        "--equivalence-ratings",
        type=Finite(0, min_open=True),
        metavar="POINTS",
        help="Test whether mean ratings differ by less than POINTS.",
    ),
    click.option(
        "--observed-power",
        type=SHARE,
        metavar="LEVEL",
        help="Add Figure 2 of Ethayarajh & Jurafsky: power at the effects found. It restates p and is no further "
        "evidence.",
    ),
    click.option(
        "--hold",
        multiple=True,
        metavar="length|markdown|column:NAME",
        help="Fit strengths with this held constant, too; repeatable.",
    ),
    click.option(
        "--compare-people-by",
        multiple=True,
        metavar="COLUMN",
        help="Compare preferences by a column of the annotators, such as screening:native; repeatable.",
    ),
    click.option(
        "--compare-people-least",
        type=click.IntRange(min=3),
        help="People, below whom neither figures nor number of a subgroup are shown.  [10]",
    ),
    click.option("--camps", is_flag=True, help="Test whether people fall into two camps about a pair."),
    click.option("--seed", type=click.IntRange(min=0), help="Random seed, stored with the results.  [0]"),
)


def analysis_options(command: Command) -> Command:
    """Add the options."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def plan_of_options(options: Mapping[str, Any], mapping: Mapping[str, str]) -> Plan:
    """Return the plan that options set; columns of a table of pairs are called as ``mapping`` says.

    An option called as a field of the plan is that field as it was given, unless it is read here.
    """
    from analysis.answers.plan import Plan, parse_expectations

    as_given = {one.name: options[one.name] for one in fields(Plan) if one.name in options}
    as_given |= {field: options[name] for name, field in MARGINS.items() if name in options}
    if options.get("keep_inconsistent"):
        if "consistency_tau" in options:
            raise click.UsageError("--consistency-tau or --keep-inconsistent, not both")
        as_given["consistency_tau"] = None
    if options.get("controls") and "max_failed_checks" in options:
        as_given["max_failed_controls"] = options["max_failed_checks"]
    read = {
        "expected": parse_expectations(options.get("expected", ()), "--expected"),
        "lower_is_better": frozenset(options.get("lower_is_better", ())),
        "control": _held(options),
        "compare_people_by": tuple(dict.fromkeys(options.get("compare_people_by", ()))),
        **judges_of(options),
    }
    plan = Plan(**{**as_given, **read, "pairs": ()})
    return replace(plan, pairs=_pairs(options, mapping))


def _held(options: Mapping[str, Any]) -> tuple[str, ...]:
    from spa.records.covariates import CONTROL

    held = tuple(dict.fromkeys(options.get("hold", ())))
    for one in held:
        if re.match(CONTROL, one) is None:
            raise click.UsageError(f"--hold: expected length, markdown or column:NAME, got {one!r}")
    return held


def _pairs(options: Mapping[str, Any], mapping: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    from analysis.answers.pairs import read_pairs

    table = options.get("pairs_file")
    return (*options.get("pairs", ()), *(read_pairs(table, mapping) if table is not None else ()))
