"""What raters said about their answers, and people at the end: those that depart most from people, then some of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from analysis.answers.study_facts import InterviewAnswer
from analysis.contribution import Shown
from analysis.descriptives.category_shares import CategoryShare
from analysis.descriptives.explanations import ExplanationRow
from analysis.figures.plain_text import shown_name
from analysis.printing.document import Block, Fold, Heading, OutputPlace, Paragraph, Section
from analysis.printing.names import Names
from analysis.printing.words import count, number, percent, plural, sentence

Words = dict[tuple[str, float], str]  # of category answers: (criterion, score) -> what was offered
MOST_APART, SPREAD = 3, 3  # of each rater
SAME = attrgetter("source", "criterion", "item_id", "system", "system_x", "system_y", "exposure")
LONGEST = 3000  # characters of an explanation; the CSV has all
TABLE = "tables/explanations.csv"


def explanations(rows: Sequence[ExplanationRow], shares: Sequence[CategoryShare], shown: Shown) -> Section | None:
    """Show a few explanations of each rater, each beside its answer; all of them stand in a CSV table."""
    if not rows:
        return None
    names = shown.names
    words = {(row.criterion, row.score): row.answer for row in shares if row.answer is not None}
    blocks: list[Block] = [
        Paragraph(
            text="An explanation is what a rater wrote when asked why. It need not be what led to the answer. Shown "
            f"first are up to {MOST_APART} whose answer departs most from the mean of people\u2019s answers to the "
            f"same, then up to {SPREAD} spread evenly over the rest. All {plural(len(rows), 'explanation')} are in "
            f"{TABLE}."
        )
    ]
    for group in dict.fromkeys(row.group for row in rows):
        own = [row for row in rows if row.group == group]
        chosen = select(own)
        name = names.group(group) if names.kind(group) == "llm" else sentence(names.group(group))
        blocks.append(Heading(text=f"{name}: {len(chosen)} of {len(own):,}"))
        blocks += [_fold(row, names, words) for row in chosen]
    return Section(id="explanations", title="What the raters say", blocks=tuple(blocks))


def select(rows: Sequence[ExplanationRow]) -> list[ExplanationRow]:
    """Return the rows that depart most from people, of each output one, then some spread evenly over the others."""
    spans = _spans(rows)
    departures = [row.departure or 0.0 for row in rows]
    apart = [place for place, departure in enumerate(departures) if departure]
    apart.sort(key=lambda place: -abs(departures[place]) / spans[_scale(rows[place])])
    first: dict[tuple[object, ...], int] = {}
    for place in apart:
        first.setdefault(SAME(rows[place]), place)
    shown = [*first.values()][:MOST_APART]
    rest = [place for place in range(len(rows)) if place not in shown]
    more = min(SPREAD, len(rest))
    even = [rest[(2 * number + 1) * len(rest) // (2 * more)] for number in range(more)]
    return [rows[place] for place in (*shown, *even)]


def _spans(rows: Sequence[ExplanationRow]) -> dict[tuple[str, str], float]:
    """Return how far the answers on each scale lie apart, so that departures on different scales compare."""
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        known = [value for value in (row.value, row.people_mean) if value is not None]
        values.setdefault(_scale(row), []).extend(known)
    return {scale: (max(known) - min(known) if known else 0.0) or 1.0 for scale, known in values.items()}


def _scale(row: ExplanationRow) -> tuple[str, str]:
    return row.source, row.criterion


def _fold(row: ExplanationRow, names: Names, words: Words) -> Fold:
    text = row.explanation
    cut = f"{text[:LONGEST]}\u2026 (the rest stands in {TABLE})" if len(text) > LONGEST else text
    parts = tuple(Paragraph(text=part, quoted=True) for part in cut.split("\n") if part.strip())
    return Fold(summary=_summary(row, names, words), blocks=parts, about=tuple(_outputs_of(row)))


def _outputs_of(row: ExplanationRow) -> Iterator[OutputPlace]:
    """Yield the outputs that an answer is about; none where it is about systems."""
    sides = ((row.system, row.sample), (row.system_x, row.sample_x), (row.system_y, row.sample_y))
    for system, sample in sides:
        if row.item_id is not None and system is not None and (sample is None or sample.isdecimal()):
            yield row.item_id, system, int(sample or 1)


def _summary(row: ExplanationRow, names: Names, words: Words) -> str:
    named = None if row.value is None else words.get((row.criterion, row.value))
    answer = _answer(row.value, row, names)
    if named is not None and row.source == "ratings":
        answer = f"{answer} ({named})" if row.people_mean is not None else named
    if row.people_mean is not None:
        answer += f", people {_answer(row.people_mean, row, names, mean=True)}"
    where = [names.criterion(row.criterion), *([] if row.item_id is None else [shown_name(row.item_id)])]
    return f"{answer}: {_about(row, names)}, {', '.join(where)}"


def _answer(value: float | None, row: ExplanationRow, names: Names, *, mean: bool = False) -> str:
    if value is None:
        return "no usable answer"
    if row.source == "ratings":
        return number(value, 1) if mean else count(value)
    if row.source == "preferences" or mean:
        return percent(value)
    won = {1.0: row.system_x, 0.0: row.system_y}.get(value)
    return "a tie" if won is None else f"{names.system(won)} better"


def _about(row: ExplanationRow, names: Names) -> str:
    if row.source == "ratings":
        shown = f" (shown as {shown_name(row.label)})" if row.label else ""
        return f"{names.system(row.system or '')}{shown}"
    letters = [shown_name(label) for label in (row.label_x, row.label_y) if label]
    shown = f" (shown as {' and '.join(letters)})" if letters else ""
    return f"{names.over(row) if row.source == 'preferences' else names.against(row)}{shown}"


def interview(rows: Sequence[InterviewAnswer], shown: Shown) -> Section:
    """Show the answers to each question of the interview, those of excluded annotators too."""
    names = shown.names
    intro = "Asked after everything else, in one's own words; nobody is excluded here."
    blocks: list[Block] = [Paragraph(text=f"{intro} All answers are in tables/interview.csv.")]
    for question in dict.fromkeys(row.question for row in rows):
        blocks.append(Heading(text=question))
        for group in dict.fromkeys(row.group for row in rows):
            own = [row.answer for row in rows if (row.question, row.group) == (question, group)]
            parts = tuple(Paragraph(text=answer[:LONGEST], quoted=True) for answer in own)
            if own:
                summary = f"{sentence(names.group(group))}: {plural(len(own), 'answer')}"
                blocks.append(Fold(summary=summary, blocks=parts))
    return Section(id="interview", title="In people’s own words", blocks=tuple(blocks))
