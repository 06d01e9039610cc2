"""Preferences stated as chances (SPA): the tests, the forest plot, the two directions."""

from __future__ import annotations

from typing import Any

from analysis.figures import forest_plot
from analysis.report.document import (
    Block,
    Column,
    Figure,
    Fold,
    Heading,
    Paragraph,
    Results,
    Section,
    Table,
    build_table,
)
from analysis.report.findings import confidence_words
from analysis.report.words import (
    Names,
    cell,
    count,
    interval,
    number,
    p_value,
    percent,
    sentence,
    stars,
    verdict,
)

STARS = "Stars: *** adjusted p below .01, ** below .05, * below .10."
LONG_FIGURE = 60  # dots; a longer figure is opened when wanted


def preferences(results: Results) -> Section | None:
    """Report each pair: mean chance, interval, test, verdict, and a figure of all of them."""
    rows, names = results.get("preferences") or [], Names(results)
    if not rows:
        return None
    blocks: list[Block] = [
        Paragraph(
            text="Annotators read outputs of each system and said how likely it is, from 0 to 100%, that the first "
            "system is better than the second. The table gives the mean of their answers; 50% means no preference. "
            + level_words(results)
        )
    ]
    criteria = list(dict.fromkeys(row["criterion"] for row in rows))
    for criterion in criteria:
        own = [row for row in rows if row["criterion"] == criterion]
        if len(criteria) > 1:
            blocks.append(Heading(text=sentence(names.criterion(criterion))))
        blocks.append(_table(results, names, own, criterion, len(criteria) > 1))
        blocks.append(share_figure(own, names, "preferences", criterion, len(criteria) > 1))
    if any(names.kind(row["group"]) == "llm" for row in rows):
        blocks.append(Paragraph(text=LLM_NOTE))
    if results.get("preference_directions"):
        blocks.append(_directions(results, names))
    return Section(id="preferences", title="Which system is preferred (SPA)", blocks=tuple(blocks))


LLM_NOTE = (
    "For an LLM the tests count forms, not people: a small p-value says that this LLM would answer much the same on "
    "other forms of this study, and nothing about other LLMs or about people."
)


def level(fwer: float) -> str:
    """Return ".05"."""
    return f"{fwer:g}".removeprefix("0")


def level_words(results: Results) -> str:
    """Return the sentence on when a difference counts as clear."""
    fwer = float((results.get("settings") or {}).get("fwer") or 0.05)
    return f"A result counts as clear where its adjusted p is at most {level(fwer)}."


def share_figure(rows: list[dict[str, Any]], names: Names, source: str, criterion: str, several: bool) -> Figure | Fold:
    """Return the forest plot of preferences or choices, folded where it is long."""
    value, what = ("mean", "Mean chance") if source == "preferences" else ("win_rate", "Share of wins")
    svg = forest_plot(
        [{**row, "stars": stars(row)} for row in rows],
        system_names={row[key]: names.system(row[key]) for row in rows for key in ("system_x", "system_y")},
        group_names={row["group"]: names.short_group(row["group"]) for row in rows},
        criterion_names={criterion: names.criterion(criterion)},
        value=value,
        alternative=f"{what} that the first system of each pair is better, with intervals; "
        "the table before this figure holds the same numbers.",
    )
    about = f": {names.criterion(criterion)}" if several else ""
    figure = Figure(
        name=f"{source}-{slug(criterion)}" if several else source,
        svg=svg,
        caption=f"{what} that the first system of a pair is better, with its interval{about}. "
        "The vertical line is 50%, no preference; a hollow mark has no test behind it.",
        alternative="the table before this figure holds the same numbers",
    )
    return (
        Fold(summary=f"Figure of all {len(rows)} results{about}", blocks=(figure,))
        if len(rows) > LONG_FIGURE
        else figure
    )


def slug(text: str) -> str:
    """Return a part of a file name: ASCII letters and digits, never empty, told apart by a short number.

    >>> slug("fluency"), slug("fluency!").startswith("fluency-")
    ('fluency', True)
    """
    import hashlib

    kept = "".join(character if character.isascii() and character.isalnum() else "_" for character in text)[:40]
    same = kept == text.lower()
    return kept if same else f"{kept.strip('_')}-{hashlib.sha256(text.encode()).hexdigest()[:4]}".lstrip("-")


def _table(results: Results, names: Names, rows: list[dict[str, Any]], criterion: str, several: bool) -> Table:
    confidence = confidence_words(results)
    columns = [
        Column(title="Pair", explanation="the question asked was whether the first is better than the second"),
        Column(title="Group"),
        Column(title="Outputs read", explanation="how many of each system before judging (exposure)", numeric=True),
        Column(title="n", explanation="annotators counted; for an LLM, forms", numeric=True),
        Column(title="Mean", explanation="mean chance that the first is better", numeric=True),
        Column(
            title=f"{confidence} interval (%)",
            explanation="the range in which the true mean may well lie",
            numeric=True,
        ),
        Column(title="t", explanation="distance from 50% in standard errors (one-sample t-test)", numeric=True),
        Column(title="df", explanation="degrees of freedom of that test", numeric=True),
        Column(
            title="Adjusted p",
            explanation="chance of so large a distance if there were no preference, "
            "corrected for testing several pairs (Holm)",
            numeric=True,
        ),
        Column(title="Stars"),
        Column(title="Verdict"),
    ]
    cells = [
        [
            cell(names.over(row)),
            cell(names.group(row["group"])),
            cell(count(row.get("exposure"))),
            cell(count(row["n"])),
            cell(percent(row.get("mean"))),
            cell(interval(row.get("ci_low"), row.get("ci_high"), as_percent=True)),
            cell(number(row.get("t"))),
            cell(count(row.get("df"))),
            cell(p_value(row.get("p_adjusted"))),
            cell(stars(row)),
            verdict(row, names, "preferences"),
        ]
        for row in rows
    ]
    caption = "Mean chance that the first system of a pair is better"
    return build_table(
        f"preferences-{slug(criterion)}" if several else "preferences",
        f"{caption}: {names.criterion(criterion)}" if several else caption,
        columns,
        cells,
        [STARS, NO_PREFERENCE],
        constant=("Outputs read",) if _exposure_told(results) else (),
    )


NO_PREFERENCE = (
    "\u201cNo clear preference\u201d means that the answers do not tell the two apart, not that the two are equal."
)


def _exposure_told(results: Results) -> bool:
    return bool((results.get("study") or {}).get("exposures"))


def _directions(results: Results, names: Names) -> Fold:
    rows = results.get("preference_directions") or []
    columns = [
        Column(title="Asked as"),
        Column(title="Group"),
        Column(title="Criterion"),
        Column(title="Outputs read", numeric=True),
        Column(title="n", explanation="answers to this direction, before exclusions", numeric=True),
        Column(title="Mean", explanation="mean chance in this direction", numeric=True),
        Column(title="SD", explanation="standard deviation of the answers, in percentage points", numeric=True),
        Column(title="Sum of both", explanation="mean of an annotator\u2019s two answers added up", numeric=True),
        Column(title="Symmetry p", explanation="chance of so large a distance of the sum from 100%", numeric=True),
    ]
    cells = [
        [
            cell(names.over(row)),
            cell(names.group(row["group"])),
            cell(names.criterion(row["criterion"])),
            cell(count(row.get("exposure"))),
            cell(count(row["n"])),
            cell(percent(row.get("mean"))),
            cell(number(None if row.get("sd") is None else 100 * row["sd"], 1)),
            cell(percent(row.get("mean_sum"))),
            cell(p_value(row.get("p_symmetry"))),
        ]
        for row in rows
    ]
    return Fold(
        summary="Both directions of each question, and whether they add up to 100%",
        blocks=(
            Paragraph(
                text="Asked both ways round, the two chances of a pair should add up to about 100%. A sum below that "
                "is indecision, which counts half for each system; a sum well above it shows a misread question."
            ),
            build_table(
                "preference_directions",
                "Each direction by itself",
                columns,
                cells,
                constant=("Criterion", "Outputs read"),
            ),
        ),
    )
