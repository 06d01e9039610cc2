"""May an LLM stand in for a person, and what do its answers add to those of people."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.contribution import Shown
from analysis.figures.plain_text import shown_name
from analysis.llm_vs_people.alternative_annotator import AlternativeAnnotatorRow
from analysis.llm_vs_people.bias_rows import BiasRow
from analysis.llm_vs_people.llms_and_people import LLMOnlyMean, LLMsAndPeople
from analysis.llm_vs_people.powered_rows import PredictionPoweredRow
from analysis.llm_vs_people.rank_tables_section import rank_tables
from analysis.llm_vs_people.saved_section import people_saved
from analysis.printing.cells import Field, cell, criterion_cell, number_column, tabulate, text_column
from analysis.printing.document import (
    Block,
    Bullets,
    Cell,
    Fold,
    Heading,
    Paragraph,
    Section,
    Table,
)
from analysis.printing.names import Names
from analysis.printing.words import count, interval, listed, number, percent, plural, sentence, signed

LISTED = 60  # rows of an open table; more are folded
MOST_LINES = 6  # LLMs named one by one
REHEARSAL = "Rehearsal: a program answered in place of an LLM, so this shows how the method works and no more."
SUGGESTED = "0.2 for experts, 0.15 for skilled annotators, 0.1 for crowds"
BIASES = {
    "severity": "all outputs",
    "position": "first place",
    "length": "longer outputs",
    "label": "letter",
    "order": "direction asked first",
}


def llm_vs_people(results: LLMsAndPeople, shown: Shown) -> Section | None:
    """Report the alternative-annotator test, prediction-powered means, rank tables, bias and unchecked LLM means."""
    names, confidence = shown.names, shown.confidence
    llms = [names.simulated(group) for group in names.groups if names.kind(group) == "llm"]
    blocks = _stand_in(results.alternative_annotator, names, rehearsed=bool(llms) and all(llms))
    tall = [block for block in blocks if isinstance(block, Bullets) and len(block.items) > MOST_LINES]
    blocks = [block for block in blocks if block not in tall]
    tests = results.alternative_annotator
    tested = any(row.passes is not None for row in tests)
    every = [_open_or_folded(_table(tests, names), len(tests), "Every LLM and criterion")] if tested else []
    appendix = [
        *tall,
        *every,
        *_powered(results.prediction_powered, names, confidence),
        *people_saved(results.people_saved, names, confidence),
        *rank_tables(results.rank_tables, names),
        *_bias(results.bias, names, confidence),
        *_unchecked(results.llm_only, names, confidence),
    ]
    if not blocks and not appendix:
        return None
    return Section(id="llm-vs-people", title="LLMs beside people", blocks=tuple(blocks), appendix=tuple(appendix))


def _stand_in(rows: Sequence[AlternativeAnnotatorRow], names: Names, *, rehearsed: bool) -> list[Block]:
    """Answer the question criterion by criterion; name an LLM only where the test could be run."""
    if not rows:
        return []
    tested = [row for row in rows if row.passes is not None]
    people = names.group(rows[0].people)
    blocks: list[Block] = [Heading(text="Can an LLM replace annotators?")]
    if rehearsed:
        blocks.append(Paragraph(text=REHEARSAL))
    if not tested:
        reasons = list(dict.fromkeys(sentence(str(row.reason)) for row in rows))
        text = f"This cannot be determined from these answers. {listed(reasons[:3])}."
        return [*blocks, Paragraph(text=text)]
    epsilon, judged = tested[0].epsilon, _judged(tested)
    blocks.append(
        Paragraph(
            text=f"Each of the {people} is left out in turn: on which {judged} does this one agree better with the "
            "others than the LLM does, and on which does the LLM? The LLM wins where the lead of the one left out is "
            f"shown to be less than epsilon, here {percent(epsilon)} of all {judged}: a head start, as an LLM costs "
            "less. It passes if it wins against at least half of them (Calderon, Reichart and Dror, 2025)."
        )
    )
    blocks.append(Bullets(items=tuple(_sentences(tested, names, people))))
    blocks.append(
        Paragraph(
            text=f"A pass says that on {judged} and criteria like these the LLM agrees with the group as well as one "
            "of its members does; not that it is right, or can replace all of them. A failure does not show that it "
            f"is worse: with few {judged} a win is rarely possible. Epsilon is set in the plan, before answers are "
            "seen; the authors "
            f"suggest {SUGGESTED}. Where several people share an id, the LLM was compared with a mixture of them."
        )
    )
    return blocks


def _sentences(rows: Sequence[AlternativeAnnotatorRow], names: Names, people: str) -> list[str]:
    """Return one sentence an LLM, at most as many as there is patience for."""
    lines = []
    for group in dict.fromkeys(row.group for row in rows):
        own = [row for row in rows if row.group == group]
        passed = [names.criterion_asked(row, rows) for row in own if row.passes]
        failed = [names.criterion_asked(row, rows) for row in own if not row.passes]
        who = names.group(group)  # a model's name keeps its letters at the start of a sentence too
        if not failed:
            text = f"{who} passes on {listed(passed)}."
        elif not passed:
            text = f"{who} does not pass on {listed(failed)}: on these answers it cannot replace one of the "
            text += f"{people}."
        else:
            text = f"{who} passes on {listed(passed)}, but not on {listed(failed)}."
        lines.append(text)
    return lines


def _judged(rows: Sequence[AlternativeAnnotatorRow]) -> str:
    words = {"ratings": "outputs", "choices": "pairs of outputs"}
    return " or ".join(word for source, word in words.items() if any(row.source == source for row in rows))


def _table(rows: Sequence[AlternativeAnnotatorRow], names: Names) -> Table:
    fields: list[Field[AlternativeAnnotatorRow]] = [
        text_column("LLM", lambda row: shown_name(row.group)),
        text_column("Criterion", lambda row: names.criterion_asked(row, rows)),
        text_column(
            "Wins against",
            _wins,
            "people for whom the LLM is shown to be behind by less than epsilon, of those tested (Benjamini-Yekutieli)",
        ),
        number_column(
            "As good or better",
            lambda row: percent(row.advantage_probability),
            f"share of {_judged(rows)} on which the LLM agrees with the others at least as well as the one left "
            "out, averaged over people; best suited to compare LLMs",
        ),
        number_column(sentence(_judged(rows)), lambda row: count(row.n_units)),
        text_column("Verdict", _verdict),
    ]
    return tabulate(
        "alternative_annotator",
        "Alternative-annotator test",
        fields,
        rows,
        csv="llm_vs_people_alternative_annotator",
        tested="Verdicts: p adjusted by Benjamini-Yekutieli, level .05",
        weights=tuple(-(row.advantage_probability or 0.0) for row in rows),
        weighed_by="the largest share as good or better",
    )


def _wins(row: AlternativeAnnotatorRow) -> str:
    if row.winning_rate is None:
        return "\u2013"
    return f"{round(row.winning_rate * row.n_annotators)} of {row.n_annotators}"


def _verdict(row: AlternativeAnnotatorRow) -> Cell:
    if row.passes is None:
        return Cell(text=f"not tested: {row.reason or 'no reason was recorded'}", tone="untested")
    return Cell(text="passes", tone="clear") if row.passes else Cell(text="does not pass", tone="even")


def _powered(rows: Sequence[PredictionPoweredRow], names: Names, confidence: str) -> list[Block]:
    """Show what people would say if they had answered all that the LLM answered, where it answered more."""
    if not rows:
        return []
    helped = [row for row in rows if _narrower(row)]
    text = (
        "Where an LLM answered more than people did, its answers can narrow an estimate of what people think: its "
        "error is measured where both answered and taken off (prediction-powered inference; Angelopoulos, Duchi and "
        "Zrnic, 2023). The interval is about people, however wrong the LLM, provided that what people answered is a "
        "random part of the whole. The weight says how far the LLM was used: 0 leaves it out. "
    )
    text += (
        f"Here it makes the interval narrower for {plural(len(helped), 'estimate')} of {len(rows):,}."
        if helped
        else "Here it makes no interval narrower: people\u2019s own answers say as much."
    )
    blocks: list[Block] = [
        Heading(text="Prediction-powered means of people"),
        Paragraph(text=text),
    ]
    for source, title in (("preferences", "Preferences"), ("choices", "Choices"), ("ratings", "Ratings")):
        own = [row for row in rows if row.source == source]
        if own:
            table = _powered_table(own, names, confidence, source, title)
            blocks.append(_open_or_folded(table, len(own), f"{title}: every estimate"))
    return blocks


def _narrower(row: PredictionPoweredRow) -> bool:
    bounds = (row.ci_low, row.ci_high, row.people_ci_low, row.people_ci_high)
    low, high, people_low, people_high = (float("nan") if bound is None else bound for bound in bounds)
    return high - low < people_high - people_low


def _powered_table(
    rows: Sequence[PredictionPoweredRow], names: Names, confidence: str, source: str, title: str
) -> Table:
    share = source != "ratings"
    fields: list[Field[PredictionPoweredRow]] = [
        text_column(
            "What",
            lambda row: _what(row, names),
            "x over y: chance that x is better, or share of choices that x wins (a tie is half); "
            "x \u2212 y: difference of ratings",
        ),
        text_column("LLM", lambda row: shown_name(row.group)),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion, row.source)),
        number_column("Exposure", lambda row: count(row.exposure)),
        number_column(
            "People alone",
            lambda row: _with_interval(row.people_mean, row.people_ci_low, row.people_ci_high, share),
            f"with the {confidence} confidence interval",
        ),
        number_column(
            "With the LLM",
            lambda row: _with_interval(row.estimate, row.ci_low, row.ci_high, share),
            f"with the {confidence} confidence interval",
        ),
        number_column(
            "Weight",
            lambda row: number(row.llm_weight),
            "lambda: people\u2019s units per unit of the LLM\u2019s scores; 0: people alone",
        ),
        number_column("Both", lambda row: count(row.n), "answers of people to what the LLM answered too"),
        number_column("LLM only", lambda row: count(row.n_more), "answers of the LLM beyond"),
    ]
    texts = [text for row in rows for text in (row.reason and str(row.reason), row.warning) if text]
    notes = [f"{sentence(text)}: {plural(texts.count(text), 'row')}." for text in dict.fromkeys(texts)]
    constant = ("LLM", "Criterion", "Exposure")
    caption = f"{title}: people with an LLM"
    return tabulate(f"prediction_powered_{source}", caption, fields, rows, notes=notes, constant=constant)


def _with_interval(centre: float, low: float | None, high: float | None, share: bool) -> Cell:
    shown = percent(centre) if share else number(centre)
    return cell(shown, detail=interval(low, high, as_percent=share) if low is not None else "no interval")


def _what(row: PredictionPoweredRow, names: Names) -> str:
    if row.source != "ratings":
        return f"{names.system(row.system_x)} over {names.system(row.system_y or '')}"
    if row.system_y is None:
        return names.system(row.system_x)
    return f"{names.system(row.system_x)} \u2212 {names.system(row.system_y)}"


def _bias(rows: Sequence[BiasRow], names: Names, confidence: str) -> list[Block]:
    """Report the bias profile of every LLM, source by source; say what could not be estimated and why."""
    if not rows:
        return []
    estimated = [row for row in rows if row.estimate is not None]
    blocks: list[Block] = [Heading(text="Bias of LLMs"), Paragraph(text=_bias_reading(estimated))]
    for source, title in (("ratings", "Ratings"), ("preferences", "Preferences"), ("choices", "Choices")):
        own = [row for row in estimated if row.source == source]
        if own:
            table = _bias_table(own, names, confidence, source, title)
            blocks.append(Fold(summary=f"{title}: every contrast ({len(own):,} rows)", blocks=(table,)))
    missing = _not_estimated(rows)
    return [*blocks, Paragraph(text=missing)] if missing else blocks


def _bias_reading(estimated: Sequence[BiasRow]) -> str:
    text = (
        "An LLM and people judged the same outputs or pairs; shown is the LLM\u2019s answer minus that of people. "
        "Over all outputs this is its severity (below 0: stricter than people). The others say how much more it gives "
        "to what stood first, was longer or bore a certain letter than to the rest, within the same system or pair. "
    )
    tested = [(row.ci_low, row.ci_high) for row in estimated if row.ci_low is not None and row.ci_high is not None]
    clear = [low for low, high in tested if low > 0 or high < 0]
    if tested:
        text += (
            f"Of {plural(len(tested), 'interval')}, {len(clear)} leave out 0; they are not corrected for their number, "
            "so that without any bias about one in twenty would."
        )
    return text


def _bias_table(rows: Sequence[BiasRow], names: Names, confidence: str, source: str, title: str) -> Table:
    factor = 1 if source == "ratings" else 100
    decimals = 2 if source == "ratings" else 1
    aside = "answers on that side of the contrast" if source == "ratings" else "in the rarer direction of each pair"
    fields: list[Field[BiasRow]] = [
        text_column("LLM", lambda row: shown_name(row.group)),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion, source)),
        text_column(
            "Bias towards",
            lambda row: cell(
                f"letter {row.level}" if row.kind == "label" else BIASES[row.kind],
                quoted=row.kind == "label",
            ),
        ),
        text_column(
            "LLM \u2212 people",
            lambda row: signed(None if row.estimate is None else factor * row.estimate, decimals),
            "in points of the scale" if source == "ratings" else "in percentage points",
        ),
        number_column(f"{confidence} confidence interval", lambda row: _bias_interval(row, factor, decimals)),
        number_column("n", lambda row: count(row.n), "answers compared"),
        number_column("Of these", lambda row: count(row.n_level), aside),
        text_column("Note", lambda row: str(row.reason or "\u2013")),
    ]
    return tabulate(f"bias_{source}", f"{title}: bias of LLMs beside people", fields, rows, constant=("Criterion",))


def _bias_interval(row: BiasRow, factor: int, decimals: int) -> str:
    low, high = row.ci_low, row.ci_high
    return interval(None if low is None else factor * low, None if high is None else factor * high, decimals=decimals)


def _not_estimated(rows: Sequence[BiasRow]) -> str:
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.estimate is None:
            what = f"{BIASES[row.kind]} ({row.source})"
            listed_already = reasons.setdefault(str(row.reason), [])
            if what not in listed_already:
                listed_already.append(what)
    parts = [f"{listed(kinds)}: {reason}" for reason, kinds in reasons.items()]
    return f"Not estimated \u2013 {'; '.join(parts)}." if parts else ""


def _unchecked(rows: Sequence[LLMOnlyMean], names: Names, confidence: str) -> list[Block]:
    if not rows:
        return []
    fields: list[Field[LLMOnlyMean]] = [
        text_column("System", lambda row: names.system(row.system)),
        text_column("LLM", lambda row: shown_name(row.group)),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion)),
        number_column("Mean", lambda row: number(row.mean)),
        number_column(f"{confidence} confidence interval", lambda row: interval(row.ci_low, row.ci_high)),
        number_column("n", lambda row: count(row.n)),
    ]
    text = "No person rated these systems on these criteria: the means come from the LLM alone and are unchecked."
    table = tabulate("llm_only", "Systems that no person rated", fields, rows, constant=("LLM", "Criterion"))
    return [Heading(text="Rated by LLMs only"), Paragraph(text=text, weight="warning"), table]


def _open_or_folded(table: Table, n: int, summary: str) -> Block:
    return table if n <= LISTED else Fold(summary=f"{summary} ({n:,} rows)", blocks=(table,))
