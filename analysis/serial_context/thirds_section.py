"""What the report says of third systems: an exploratory question, asked where they vary."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.contribution import Shown
from analysis.printing.cells import Field, number_column, tabulate, text_column
from analysis.printing.document import Bullets, Paragraph, Section
from analysis.printing.levels import correction_name
from analysis.printing.words import count, interval, number, p_value, p_words, percent, plural, sentence
from analysis.serial_context.thirds import CONTEXTS, ThirdSystem
from analysis.statistics.reasons import commonest

OPENING = (
    "Exploratory. Where a ranking shows some of the systems, or each item two of them, a choice between two may follow "
    "from a third: one beside which both look good, or one that was just read. These tests set choices with the third "
    "system beside choices without it, and count annotators. An order of the systems is about those that were shown."
)
PLACES = {"beside": "beside the two, on the same item", "before": "on the item before"}
MOST_SAID, MOST_SHOWN = 3, 20


def third_systems(rows: Sequence[ThirdSystem], shown: Shown) -> Section | None:
    """Report what third systems change; nothing where none varies."""
    if shown.live or not rows:
        return None
    said = tuple(_said(context, [row for row in rows if row.context == context], shown) for context in CONTEXTS)
    some = sorted(rows, key=lambda row: 2.0 if row.p_value is None else row.p_value)[:MOST_SHOWN]
    more = f" (the clearest {MOST_SHOWN} of {len(rows):,})" if len(rows) > MOST_SHOWN else ""
    table = tabulate(
        "third_systems",
        f"Choices with and without a third system{more}",
        _fields(shown),
        some,
        constant=("Group", "Criterion", "Third system is", "Not tested"),
        csv="third_systems",
    )
    title = "Do choices depend on a third system? (exploratory)"
    return Section(id="third-systems", title=title, blocks=(Paragraph(text=OPENING), Bullets(items=said), table))


def _said(context: str, rows: Sequence[ThirdSystem], shown: Shown) -> str:
    """Say what tests of one context show, or why nothing can be said."""
    what = sentence(PLACES[context])
    tested = [row for row in rows if row.p_adjusted is not None]
    clear = sorted(
        (row for row in tested if row.p_adjusted is not None and row.p_adjusted <= shown.settings.fwer),
        key=lambda row: row.p_value or 0.0,
    )
    if not rows:
        return f"{what}: no system varies there, or nobody knows which page came before."
    if not tested:
        return f"{what}: not tested ({commonest(row.reason for row in rows)})."
    if not clear:
        return f"{what}: no clear effect in {plural(len(tested), 'test')}."
    listed = "; ".join(_effect(row, shown) for row in clear[:MOST_SAID])
    more = f"; and {len(clear) - MOST_SAID} more" if len(clear) > MOST_SAID else ""
    return f"{what}: {len(clear)} of {plural(len(tested), 'test')} show an effect: {listed}{more}."


def _effect(row: ThirdSystem, shown: Shown) -> str:
    names = shown.names
    return (
        f"{names.over(row)} {percent(row.share_with)} with {names.system(row.third)}, {percent(row.share_without)} "
        f"without ({p_words(row.p_adjusted)})"
    )


def _fields(shown: Shown) -> list[Field[ThirdSystem]]:
    names = shown.names
    return [
        text_column("Pair", names.over),
        text_column("Third", lambda row: names.system(row.third)),
        text_column("Third system is", lambda row: PLACES[row.context]),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("n", lambda row: count(row.n), "choices"),
        number_column("With it", lambda row: count(row.n_with)),
        number_column(
            "Annotators",
            lambda row: f"{count(row.annotators_with)}, {count(row.annotators_without)}",
            "with the third system, and without",
        ),
        number_column("Chosen with", lambda row: percent(row.share_with), "share of the first system of the pair"),
        number_column("Chosen without", lambda row: percent(row.share_without)),
        number_column(
            f"{shown.confidence} confidence interval",
            lambda row: interval(row.ci_low, row.ci_high, as_percent=True),
            "of the difference",
        ),
        number_column("t", lambda row: number(row.t, 2)),
        number_column(
            "Adjusted p", lambda row: p_value(row.p_adjusted), f"{correction_name(shown.settings)}, tests of a group"
        ),
        text_column("Not tested", lambda row: str(row.reason or "")),
    ]
