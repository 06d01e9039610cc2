"""What the report says of how much people differ, and of camps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from analysis.camps.people_differ import CampsRow, OwnPreference, PeopleDiffer
from analysis.contribution import Shown
from analysis.figures.sorted_dots import sorted_dots
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Bullets, Figure, Heading, Paragraph
from analysis.printing.levels import correction_name
from analysis.printing.names import Names
from analysis.printing.pictures import BESIDE, pictured
from analysis.printing.words import count, interval, number, p_value, p_words, percent, sentence, signed

INTRO = (
    "A mean of 60% may be everybody\u2019s mild preference, or a strong one of most against a strong one of some. "
    "Where people answered several times about separate outputs, what differs between people is told from what differs "
    "between the answers of one person. The share who truly prefer the other system rests on the shape assumed for "
    "true preferences: normal, or for choices beta."
)
CAMPS = (
    "Do people fall into two camps, or do their preferences spread about one middle? A clear test speaks for two. "
    "Where people answered only a few times, two camps are mostly missed: no finding is no sign of one."
)
MOST_SAID, MOST_PANELS = 6, 3
UNSURE = 0.5  # width of an interval that says next to nothing


def differ_blocks(
    rows: Sequence[PeopleDiffer], own: Sequence[OwnPreference], camps: Sequence[CampsRow], shown: Shown
) -> Iterator[Block]:
    """Yield what is said of how people differ; nothing where nothing was asked and nothing can be estimated."""
    if not rows:
        return
    names = shown.names
    yield Heading(text="How much people differ")
    yield Paragraph(text=INTRO)
    known = [row for row in rows if row.share_loser is not None]
    said = [f"{_about(row, names)}: {loser_words(row, names)}." for row in known[:MOST_SAID]]
    if len(known) > MOST_SAID:
        said.append(f"{len(known) - MOST_SAID} more pairs stand in the table.")
    missing = dict.fromkeys(str(row.reason) for row in rows if row.share_loser is None)
    said += [f"Not estimated for {sum(str(row.reason) == reason for row in rows)}: {reason}." for reason in missing]
    yield Bullets(items=tuple(said))
    yield from _figure(known, own, names)
    constant = ("Group", "Criterion", "From", "Model", "Not estimated")
    yield tabulate(
        "people_differ", "How much people differ", _fields(shown), rows, constant=constant, csv="people_differ"
    )
    if camps:
        yield Heading(text="Two camps")
        yield Paragraph(text=CAMPS)
        yield Bullets(items=tuple(_camp_words(row, names) for row in camps[: 2 * MOST_SAID]))
        same = ("Group", "Criterion", "From", "Not tested")
        yield tabulate("camps", "One camp or two", _camp_fields(shown), camps, constant=same, csv="camps")


def loser_words(row: PeopleDiffer, names: Names) -> str:
    """Return "61% prefer A; we estimate that 22% (14 to 31%) truly prefer B" of a row that has a share."""
    first = row.ahead == "x"
    winner, loser = (row.system_x, row.system_y) if first else (row.system_y, row.system_x)
    mean = row.estimate or 0.0
    share = percent(mean if first else 1 - mean)
    ahead = {
        "choices": f"{names.system(winner)} is chosen {share} of the time",
        "preferences": f"{names.system(winner)} is preferred with a mean chance of {share}",
        "ratings": f"{names.system(winner)} is rated {number(abs(mean), 2)} points better",
    }[row.source]
    bottom, top = row.share_loser_low or 0.0, row.share_loser_high or 0.0
    unsure = ", which these answers can hardly tell" if top - bottom > UNSURE else ""
    return (
        f"{ahead}; we estimate that {percent(row.share_loser)} ({percent(bottom)} to {percent(top)}) of people truly "
        f"prefer {names.system(loser)}{unsure}"
    )


def _about(row: PeopleDiffer | CampsRow, names: Names) -> str:
    return f"{sentence(names.source_by_group(row.source, row.group))}, {names.criterion(row.criterion)}"


def _camp_words(row: CampsRow, names: Names) -> str:
    about = f"{_about(row, names)}, {names.against(row)}"
    if row.two_camps is None:
        return f"{about}: not tested ({row.reason})."
    if not row.two_camps:
        return f"{about}: no clear sign of two camps ({p_words(row.p_adjusted)})."
    near_x, near_y = (
        f"{signed(mean)} points" if row.source == "ratings" else percent(mean)
        for mean in (row.mean_nearer_x, row.mean_nearer_y)
    )
    return (
        f"{about}: two camps ({p_words(row.p_adjusted)}), about {percent(row.share, 0)} near {near_x} for "
        f"{names.system(row.system_x)}, the others near {near_y}."
    )


def _fields(shown: Shown) -> list[Field[PeopleDiffer]]:
    names = shown.names

    def spread(value: float | None, row: PeopleDiffer) -> str:
        if value is None:
            return ""
        return number(value, 2) if row.source == "ratings" else f"{number(100 * value, 1)} pp"

    def mean(row: PeopleDiffer) -> str:
        return signed(row.estimate) if row.source == "ratings" else percent(row.estimate)

    return [
        text_column("Pair", names.against),
        text_column("From", lambda row: sentence(names.source(row.source))),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        text_column("Model", lambda row: row.model or ""),
        number_column("People", lambda row: count(row.n)),
        number_column("Answered twice", lambda row: count(row.n_twice), "or more, about separate outputs"),
        number_column("Answers", lambda row: count(row.n_answers)),
        number_column("Mean", mean, "over people: share, chance or points of the first system"),
        number_column("Between people", lambda row: spread(row.sd_people, row), "standard deviation, noise taken out"),
        number_column("Noise", lambda row: spread(row.sd_noise, row), "standard deviation of one answer"),
        number_column(
            "Prefer the other",
            lambda row: cell(
                percent(row.share_loser), detail=interval(row.share_loser_low, row.share_loser_high, as_percent=True)
            ),
            f"share of people who truly prefer the system that is behind, with the {shown.confidence} interval",
        ),
        text_column("Not estimated", lambda row: str(row.reason or "")),
    ]


def _camp_fields(shown: Shown) -> list[Field[CampsRow]]:
    names = shown.names
    return [
        text_column("Pair", names.against),
        text_column("From", lambda row: sentence(names.source(row.source))),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("People", lambda row: count(row.n)),
        number_column(
            "Adjusted p", lambda row: p_value(row.p_adjusted), f"{correction_name(shown.settings)}; small: two camps"
        ),
        text_column("Two camps", lambda row: {True: "yes", False: "no", None: ""}[row.two_camps]),
        number_column("Nearer the first", lambda row: percent(row.share, 0), "share of people"),
        text_column("Not tested", lambda row: str(row.reason or "")),
    ]


def _figure(rows: Sequence[PeopleDiffer], own: Sequence[OwnPreference], names: Names) -> Iterator[Figure]:
    """Yield one figure, of the pairs on which most people differ from the mean, of the first kind of answers."""
    source = next((row.source for row in rows), None)
    first = [row for row in rows if row.source == source]
    drawn = sorted(first, key=lambda row: -(row.share_loser or 0.0))[:MOST_PANELS]
    panels: dict[str, list[tuple[float, float, float]]] = {}
    for row in first:
        if row in drawn:
            key = _key(row)
            several = len({(one.group, one.criterion) for one in first}) > 1
            about = f" ({names.group(row.group)}, {names.criterion(row.criterion)})" if several else ""
            panels[f"{names.over(row)}{about}"] = [
                (one.estimate, one.ci_low, one.ci_high) for one in own if _key(one) == key
            ]
    if panels and source is not None:
        more = (
            f" The {len(drawn)} of {len(first)} pairs on which people differ most." if len(drawn) < len(first) else ""
        )
        caption = (
            "People\u2019s own preferences, drawn to the mean as far as they are uncertain, sorted, with "
            f"{names.confidence} bands.{more}"
        )
        yield pictured("people-own", partial(_drawn, panels, source), caption, BESIDE)


def _key(row: PeopleDiffer | OwnPreference) -> tuple[str, ...]:
    return (row.source, row.group, row.criterion, row.system_x, row.system_y)


def _drawn(panels: dict[str, list[tuple[float, float, float]]], source: str, **more: Any) -> str:
    alternative = f"People\u2019s own preferences, sorted; {BESIDE}."
    if source != "ratings":
        shares = {name: [(100 * a, 100 * b, 100 * c) for a, b, c in dots] for name, dots in panels.items()}
        title = "second better  \u2190  even  \u2192  first better"
        return sorted_dots(shares, low=0, high=100, even=50, title=title, unit="%", alternative=alternative, **more)
    furthest = max(abs(end) for dots in panels.values() for dot in dots for end in dot) or 1.0
    title = "points by which the first is better"
    return sorted_dots(panels, low=-furthest, high=furthest, even=0, title=title, alternative=alternative, **more)
