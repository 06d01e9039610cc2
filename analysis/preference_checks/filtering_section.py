"""What leaving out those who contradict themselves changes, for every bound."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from analysis.contribution import Shown
from analysis.figures.figures import Axis, Dot, draw
from analysis.preference_checks.filtering import SweepRow
from analysis.printing.cells import VERDICT, Field, number_column, tabulate, text_column, verdict
from analysis.printing.document import Block, Bullets, Figure, Fold, Heading, Paragraph, Table
from analysis.printing.lookup import grouped
from analysis.printing.names import Names
from analysis.printing.pictures import BESIDE, how_many, pictured
from analysis.printing.words import count, p_value, percent, plural, share_interval, signed

Comparison = tuple[str, str, int | None, str, str]
SHOWN = (1.0, 1.1, 1.2, 1.5, None)  # bounds of the table; all stand in results.json
DRAWN = 6  # comparisons of the figure
OPEN = 20  # rows of an open table; more are folded
MEANING = (
    "Anyone who gives two chances that add up to more than the bound is left out. The bound is a choice, so here are "
    "the "
    "same tests under others. A bound cuts off high sums only: each direction taken alone then falls on average, even "
    "where nobody is biased, while the mean of both directions stays where it was as long as the slips in the two "
    "directions are alike. So a shift of one direction is no finding, and one of the mean of both deserves a look."
)


def filtering_blocks(rows: Sequence[SweepRow], shown: Shown) -> list[Block]:
    """Report the tests under several bounds; nothing where no sum could be checked."""
    if not rows:
        return []
    names, usual = shown.names, shown.settings.consistency_tau
    own = [row for row in rows if row.tau in SHOWN or row.tau == usual]
    lines = _changes(rows, names, usual)
    blocks = bounds_compared(own, names)
    return [
        Heading(text="What leaving out contradictory annotators changes"),
        Paragraph(text=MEANING),
        Bullets(items=tuple(lines)),
        *(
            (Fold(summary=f"Each comparison under {plural(len(SHOWN), 'bound')}", blocks=blocks),)
            if len(own) > OPEN
            else blocks
        ),
    ]


def bounds_compared(rows: Sequence[SweepRow], names: Names) -> tuple[Block, ...]:
    """Lay the tests under some bounds beside each other, comparison by comparison: a table, and a figure of a few."""
    comparisons = list(dict.fromkeys(_key(row) for row in rows))
    own = sorted(rows, key=lambda row: comparisons.index(_key(row)))
    some = [row for row in own if _key(row) in comparisons[:DRAWN]]
    return _table(own, names), _figure(some, names, len(comparisons))


def _key(row: SweepRow) -> Comparison:
    return row.group, row.criterion, row.exposure, row.system_x, row.system_y


def _bound(tau: float | None) -> str:
    return "nobody left out" if tau is None else f"sums up to {100 * tau:g}%"


def _changes(rows: Sequence[SweepRow], names: Names, usual: float | None) -> list[str]:
    by_comparison = grouped(rows, _key)
    tested = {key: [row for row in own if row.verdict is not None] for key, own in by_comparison.items()}
    turned = [own for own in tested.values() if len({row.verdict for row in own}) > 1]
    reversed_ = sum({"x", "y"} <= {row.verdict for row in own} for own in turned)
    total = plural(len(by_comparison), "comparison")
    lines = [
        f"The verdict depends on the bound on {len(turned)} of {total}, and is reversed by it on {reversed_}. A clear "
        "preference that is lost under a low bound may only have lost annotators."
        if turned
        else f"The verdict is the same under every bound that leaves a test ({total})."
    ]
    untested = sum(len(tested[key]) < len(own) for key, own in by_comparison.items())
    if untested:
        lines.append(f"Under some bounds too few answers are left for a test, on {untested} of {total}.")
    for own in turned[:DRAWN]:
        first = own[0]
        about = "" if first.exposure is None else f", {plural(first.exposure, 'output')} read"
        words = [f"{verdict(row, names, 'preferences').text} ({_bound(row.tau)})" for row in _steps(own)]
        lines.append(
            f"{names.over(first)}, {names.group(first.group)}, {names.criterion(first.criterion)}{about}: "
            f"{'; '.join(dict.fromkeys(words))}."
        )
    lines.append(f"The bound used in this report: {_bound(usual)}.")
    return lines


def _steps(own: Sequence[SweepRow]) -> list[SweepRow]:
    """Return the rows at which the verdict becomes another one."""
    return [row for place, row in enumerate(own) if not place or row.verdict != own[place - 1].verdict]


def _table(rows: Sequence[SweepRow], names: Names) -> Table:
    fields: list[Field[SweepRow]] = [
        text_column("Pair", names.over),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Outputs read", lambda row: count(row.exposure)),
        text_column("Bound", lambda row: _bound(row.tau)),
        number_column("n", lambda row: count(row.n), "those kept"),
        number_column("Left out", lambda row: count(row.n_excluded)),
        number_column("Mean", lambda row: percent(row.mean), "of both directions together"),
        number_column(
            f"{names.confidence} confidence interval (%)", lambda row: share_interval(row.ci_low, row.ci_high)
        ),
        number_column("Adjusted p", lambda row: p_value(row.p_adjusted)),
        number_column(
            "First direction",
            lambda row: _moved(row.mean_forward, row.shift_forward),
            "its mean alone, and how far it moved, in percentage points",
        ),
        number_column(
            "Second direction",
            lambda row: _moved(row.mean_back, row.shift_back),
            "the same of the question asked the other way",
        ),
        (VERDICT, lambda row: verdict(row, names, "preferences")),
    ]
    caption = "The tests under other bounds on the sum of both directions"
    constant = ("Criterion", "Outputs read")
    return tabulate("consistency_sweep", caption, fields, rows, constant=constant, units=how_many(rows, names))


def _moved(mean: float | None, shift: float | None) -> str:
    shown = percent(mean)
    return shown if shift is None or mean is None else f"{shown} ({signed(100 * shift, 1)})"


def _figure(rows: Sequence[SweepRow], names: Names, comparisons: int) -> Figure:
    several_criteria = len({row.criterion for row in rows}) > 1
    several_exposures = len({row.exposure for row in rows}) > 1
    dots = []
    for row in rows:
        panel = names.over(row)
        panel += f", {names.criterion(row.criterion)}" if several_criteria else ""
        panel += f", {plural(row.exposure, 'output')}" if several_exposures and row.exposure else ""
        dots.append(
            Dot(
                panel=panel,
                label=_bound(row.tau),
                group=names.short_group(row.group),
                value=None if row.mean is None else 100 * row.mean,
                low=None if row.ci_low is None else 100 * max(row.ci_low, 0.0),
                high=None if row.ci_high is None else 100 * min(row.ci_high, 1.0),
                text="no answers" if row.mean is None else "",
                open=row.verdict is None,
            )
        )
    axis = Axis(
        low=0,
        high=100,
        title="second better  \u2190  even  \u2192  first better",
        unit="%",
        reference=50,
        ticks=(0, 25, 50, 75, 100),
    )
    drawing = partial(draw, dots, axis, f"Mean preference under several bounds, with intervals; {BESIDE}.")
    only = f" The first {DRAWN} of {comparisons} comparisons are drawn." if comparisons > DRAWN else ""
    caption = (
        "Mean chance that the first system is better, under several bounds, "
        f"with {names.confidence} confidence intervals.{only}"
    )
    return pictured("consistency-sweep", drawing, caption, units=how_many(rows, names))
