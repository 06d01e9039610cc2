"""Do LLMs and metrics order outputs and systems as people do, and as well as one person does."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.contribution import Shown
from analysis.correlations.compared import ComparisonRow
from analysis.correlations.group_correlations import CorrelationRow
from analysis.correlations.heat_map import heat_maps, of_averages
from analysis.correlations.levels import Level
from analysis.correlations.williams import NOT_HIGHER
from analysis.figures.plain_text import shown_name
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.document import (
    Block,
    Bullets,
    Cell,
    Column,
    Fold,
    Heading,
    Paragraph,
    Section,
    Table,
    build_table,
)
from analysis.printing.evidence import degree, evidence
from analysis.printing.lookup import OVERALL, left_out_of_metrics, opened
from analysis.printing.names import Names
from analysis.printing.words import interval, listed, number, p_value, p_words, plural, sentence, slug, t_value

CLAIMS: tuple[tuple[Level, str], ...] = (("overall", "single outputs"), ("system", "systems"))
SHOWN = 12  # measures in the open table
SENTENCES = 6  # measures that have a sentence
LISTED = 60  # comparisons in one table
PROCEDURES = {"bh": "Benjamini-Hochberg", "holm": "Holm", "by": "Benjamini-Yekutieli"}
LEVELS: dict[Level, tuple[str, str]] = {
    "overall": ("Single outputs", "all outputs pooled"),
    "system": ("Systems", "the systems\u2019 means"),
    "per_item": (
        "Within an item",
        "the outputs of different systems for one item, averaged over items; p holds for these systems",
    ),
    "within_system": ("Within a system", "one system's outputs, averaged over systems; not tested"),
}
ALIKE = (
    "share of pairs of an item\u2019s outputs that both sides order alike, or both tie, averaged over items (Deutsch "
    "et al. 2023); an item that one side does not tell apart counts, too"
)
ACCURACY = Column(title="Pairwise accuracy", explanation=ALIKE, numeric=True)
INTRODUCTION = (
    "Kendall\u2019s tau (tau-b) is 1 where two sides put everything in the same order, 0 where their orders are "
    "unrelated and \u22121 where one is the reverse of the other. A tau for systems can be high while that for single "
    "outputs is low: averaging over many outputs removes chance, and a few systems leave few orders to tell apart."
)
SIZES = "Words for size follow Botsch (2011): below .1 very weak, below .2 weak, below .3 moderate, else strong."
CAUTION = (
    f"{SIZES} Words for evidence follow Muff et al. (2022), on p-values corrected for all measures of the table "
    "(Benjamini-Hochberg). The p-value and the interval for single outputs take outputs as independent, as published "
    "studies do; those of one system or item are not quite, so p errs towards too small and the interval towards too "
    "narrow."
)
BOUNDS = {  # whether the person is part of the mean: what the line is called
    False: "One person and the others (mean)",
    True: "One person and all people (mean)",
}
BOUND = (
    "\u201cOne person and the others\u201d says how well a single person agrees with the mean of the others, averaged "
    "over people: what can be expected of one more annotator. The others are one person fewer than all people, which "
    "makes it a little too low. \u201cOne person and all people\u201d leaves the person in the mean, as Chhun et al. "
    "(2024) do: an upper bound."
)


def correlations(
    coefficients: Sequence[CorrelationRow],
    compared: Sequence[ComparisonRow],
    averages: Sequence[CorrelationRow],
    shown: Shown,
) -> Section | None:
    """Report Kendall's tau with people by criterion, with one person against the others beside it."""
    rows = [row for row in coefficients if row.method == "kendall"]
    if not rows:
        return None
    names = shown.names
    blocks: list[Block] = [Paragraph(text=INTRODUCTION)]
    parts = sorted(dict.fromkeys((row.criterion, row.b) for row in rows), key=lambda each: each[0] != OVERALL)
    criteria = {criterion for criterion, _ in parts}
    ordered = list(dict.fromkeys(criterion for criterion, _ in parts))
    targets = {target for _, target in parts}
    for target in dict.fromkeys(target for _, target in parts):
        blocks += heat_maps(coefficients, averages, target, names)
    of_part: dict[tuple[str, str], list[CorrelationRow]] = {part: [] for part in parts}
    for row in rows:
        of_part[row.criterion, row.b].append(row)
    for (criterion, target), own in of_part.items():
        part: list[Block] = []
        title = ""
        if len(parts) > 1:
            heading = names.criterion(criterion) if len(criteria) > 1 else ""
            against = f"against {names.measure(target)}" if len(targets) > 1 else ""
            title = sentence(" ".join(filter(None, (heading, against))))
        part += _sentences(own, names, target, shown.settings.fwer)
        stem = "-".join(slug(one) for one in (criterion, target) if len(parts) > 1)
        about = f": {names.criterion(criterion)}" if len(criteria) > 1 else ""
        part += _tables(own, names, f"correlations-{stem}".rstrip("-"), target, about)
        if criterion not in opened(ordered):
            blocks.append(Fold(summary=title, blocks=tuple(part)))
        else:
            blocks += [Heading(text=title), *part] if title else part
    blocks += of_averages(averages, shown)
    blocks += _comparisons(compared, shown, several=len(criteria) > 1)
    if words := _without_references(shown):
        blocks.append(Paragraph(text=words))
    tested = any(row.p_value is not None for row in rows)
    blocks.append(Paragraph(text=CAUTION if tested or not shown.live else SIZES))
    return Section(id="correlations", title=_title(rows, names, targets), blocks=tuple(blocks))


def _without_references(shown: Shown) -> str:
    """Say which systems the correlations of metrics leave out."""
    names = shown.names
    metrics: dict[tuple[str, ...], list[str]] = {}
    for metric, systems in left_out_of_metrics(shown.results).items():
        metrics.setdefault(systems, []).append(shown_name(metric))
    return " ".join(
        f"Correlations of {listed(own)} leave out {listed([names.system(one) for one in systems])}, the reference that "
        "the others are measured by."
        for systems, own in metrics.items()
    )


def _title(rows: Sequence[CorrelationRow], names: Names, targets: set[str]) -> str:
    compared = {row.a.partition(":")[0] for row in rows if not row.upper_bound}
    kinds = {names.kind(row.a.partition(":")[2]) for row in rows if row.a.startswith("ratings:")}
    who = ["LLMs"] if "llm" in kinds else []
    who += ["metrics"] if "metrics" in compared else []
    people = " and ".join(sorted(names.group(target.partition(":")[2]) for target in targets))
    if not compared:
        return f"Do {people} agree on the order?"
    return f"Do {' and '.join(who) or 'other groups'} order things as {people} do?"


def _sentences(rows: Sequence[CorrelationRow], names: Names, target: str, rate: float) -> list[Block]:
    """Say in a sentence each what the strongest measures do; claims need the corrected p."""
    by_level = {(row.a, row.level): row for row in rows if not row.upper_bound}
    people = names.group(target.partition(":")[2])
    items = []
    for measure in _ordered(rows)[:SENTENCES]:
        parts = [
            _claim(by_level[measure, level], what, people, rate)
            for level, what in CLAIMS
            if (measure, level) in by_level
        ]
        items.append(f"{names.measure(measure)}: {'; '.join(parts)}.")
    bound = _bound(rows, "overall")
    if bound is not None and bound.value is not None:
        items.append(
            f"One person against the mean of the others: tau {number(bound.value)} for single outputs, averaged "
            f"over {plural(bound.n, 'person', 'people')}."
        )
    return [Bullets(items=tuple(items))] if items else []


def _claim(row: CorrelationRow, what: str, people: str, rate: float) -> str:
    if row.value is None:
        return f"nothing can be said of {what} ({row.reason})"
    if row.p_adjusted is None:
        return f"{what}: tau {number(row.value)}, not tested ({row.reason or 'no reason was recorded'})"
    facts = f"tau {number(row.value)}, {evidence(row.p_adjusted)}, {p_words(row.p_adjusted)}"
    if row.p_adjusted > rate:
        return f"it is not clear that it orders {what} as {people} do ({facts})"
    if row.value < 0:
        return f"it orders {what} against {people}, to a {degree(row.value)} degree ({facts})"
    return f"it orders {what} as {people} do, to a {degree(row.value)} degree ({facts})"


def _ordered(rows: Sequence[CorrelationRow]) -> list[str]:
    """Return the measures, the strongest on single outputs first; those without a number last."""
    overall = [row for row in rows if row.level == "overall" and not row.upper_bound]
    return [row.a for row in sorted(overall, key=lambda row: -1.0 if row.value is None else -abs(row.value))]


def _bound(rows: Sequence[CorrelationRow], level: str, *, included: bool = False) -> CorrelationRow | None:
    """Return the average of one person against the others, or against all people."""
    averages = [row for row in rows if row.upper_bound and row.a == row.b and row.level == level]
    return next((row for row in averages if row.person_included == included), None)


def _tables(rows: Sequence[CorrelationRow], names: Names, stem: str, target: str, about: str) -> list[Block]:
    by_level = {(row.a, row.level): row for row in rows if not row.upper_bound or row.a != row.b}
    bounds = {
        title: {level: row for level in LEVELS if (row := _bound(rows, level, included=included)) is not None}
        for included, title in BOUNDS.items()
    }
    people = [row.a for row in rows if row.upper_bound and row.a != row.b and row.level == "overall"]
    measured = [row for row in rows if row.pairwise_accuracy is not None]
    notes = [BOUND] if any(bounds.values()) else []
    if measured:
        notes.append(
            f"Pairwise accuracy: of {plural(measured[0].accuracy_items or 0, 'item')}, the same for all measures."
        )
    columns = [
        Column(title="Measure"),
        *(
            column
            for level, (title, explanation) in LEVELS.items()
            for column in (
                Column(title=title, explanation=explanation, numeric=True),
                *([ACCURACY] if level == "per_item" else []),
            )
        ),
        Column(title="n", explanation="single outputs in common", numeric=True),
    ]
    ordered = _ordered(rows)
    first = [
        *(_line(title, bound) for title, bound in bounds.items() if bound),
        *(_line(names.measure(name), {level: by_level[name, level] for level in LEVELS}) for name in ordered[:SHOWN]),
    ]
    caption = f"Kendall\u2019s tau with {names.measure(target)}, strongest first{about}"
    blocks: list[Block] = []
    if first:
        blocks.append(build_table(stem, caption, columns, first, notes))
    rest = [_line(names.measure(name), {level: by_level[name, level] for level in LEVELS}) for name in ordered[SHOWN:]]
    if rest:
        table = build_table(f"{stem}-more", f"{caption}: the others", columns, rest)
        blocks.append(Fold(summary=f"{plural(len(rest), 'weaker measure')}", blocks=(table,)))
    single = [
        _line(shown_name(name.partition(":")[2]), {level: by_level[name, level] for level in LEVELS}) for name in people
    ]
    if single:
        table = build_table(f"{stem}-people", f"Each person against the mean of the others{about}", columns, single)
        blocks.append(Fold(summary="Each person against the others", blocks=(table,)))
    return blocks


def _line(name: str, by_level: dict[Level, CorrelationRow]) -> list[Cell]:
    cells = [cell(sentence(name) if name.startswith("one ") else name)]
    for level in LEVELS:
        row = by_level.get(level)
        if row is None:
            cells.append(cell("\u2013"))
        elif row.value is None:
            cells.append(Cell(text="none", detail=str(row.reason), tone="untested"))
        else:
            tested = row.p_adjusted if row.p_adjusted is not None else row.p_value
            word = "adjusted p" if row.p_adjusted is not None else "p"
            shown = p_value(tested)
            detail = "" if tested is None else f"{word} {shown if shown.startswith('<') else f'= {shown}'}"
            if row.ci_low is not None:
                limits = interval(row.ci_low, row.ci_high)
                detail = f"{limits}; {detail}" if detail else limits
            if level == "per_item" and row.a != row.b:
                behind = f"{row.n} of {plural(row.n + row.n_undefined, 'item')}"
                detail = f"{behind}; {detail}" if detail else behind
            cells.append(cell(number(row.value), detail=detail))
        if level == "per_item":
            cells.append(cell(number(None if row is None else row.pairwise_accuracy)))
    overall = by_level.get("overall")
    counted = overall is not None and not (overall.upper_bound and overall.a == overall.b)
    return [*cells, cell(f"{overall.n:,}" if overall is not None and counted else "\u2013")]


def _comparisons(rows: Sequence[ComparisonRow], shown_by: Shown, *, several: bool) -> list[Block]:
    names = shown_by.names
    tested = [row for row in rows if row.p_adjusted is not None]
    if not rows:
        return []
    clear = [row for row in tested if row.verdict in {"a", "b"}]
    first = {row.a for row in rows}
    how = f", each with {names.measure(rows[0].a)}, the first listed" if len(first) == 1 and len(rows) > 2 else ""
    summary = (
        f"Williams\u2019s test compares two correlations with the same people{how}. "
        f"Of {plural(len(tested), 'tested comparison')} {len(clear)} show a difference "
        f"after correction ({PROCEDURES[shown_by.settings.williams_correction or 'bh']}{_family(rows, shown_by)})"
    )
    lower = sum(row.reason == NOT_HIGHER for row in rows)
    if rows[0].alternative == "greater":
        summary += (
            f", one-sided; in {lower} more the first is not closer, which makes them no tests (Chhun et al. 2024). The "
            "others are corrected without them, so that of measures that are alike up to twice the rate are called "
            "closer"
        )
    untested = len(rows) - len(tested) - lower
    summary += f"; {plural(untested, 'comparison')} could not be tested (reasons in the table)." if untested else "."
    shown = rows if len(rows) <= LISTED else clear[:LISTED]
    blocks: list[Block] = [Heading(text="Which is closer to people?"), Paragraph(text=summary)]
    if shown:
        table = _comparison_table(shown, names, several, PROCEDURES[shown_by.settings.williams_correction or "bh"])
        about = "Each comparison" if len(shown) == len(rows) else f"{len(shown)} of the {len(clear)} with a difference"
        blocks.append(Fold(summary=about, blocks=(table,)))
    if len(shown) < len(rows):
        blocks.append(Paragraph(text="All of them are in tables/comparisons_of_correlations.csv."))
    return blocks


def _family(rows: Sequence[ComparisonRow], shown: Shown) -> str:
    """Say that criteria are corrected together, where they are."""
    criteria = len({row.criterion for row in rows})
    chosen = shown.settings.williams_criteria or ("together" if shown.settings.family == "all" else "apart")
    return f", {plural(criteria, 'criterion', 'criteria')} together" if chosen == "together" and criteria > 1 else ""


def _comparison_table(rows: Sequence[ComparisonRow], names: Names, several: bool, correction: str) -> Table:
    fields: list[Field[ComparisonRow]] = [
        text_column("First", lambda row: names.measure(row.a)),
        text_column("Second", lambda row: names.measure(row.b)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        text_column("Level", lambda row: LEVELS[row.level][0].lower()),
        number_column("Tau of the first", lambda row: number(row.value_a)),
        number_column("Tau of the second", lambda row: number(row.value_b)),
        number_column("t", lambda row: t_value(row.t), "positive where the first is closer to people"),
        number_column(
            "Adjusted p",
            lambda row: p_value(row.p_adjusted),
            f"{'one' if rows[0].alternative == 'greater' else 'two'}-sided, {correction}",
        ),
        text_column("Closer to people", lambda row: _closer(row, names)),
    ]
    constant = ("Level",) if several else ("Criterion", "Level")
    return tabulate("correlations_compared", "Which measure is closer to people", fields, rows, constant=constant)


def _closer(row: ComparisonRow, names: Names) -> Cell:
    if row.reason == NOT_HIGHER:
        return Cell(text="the first is not closer", tone="even")
    if row.verdict is None or row.p_adjusted is None:
        return Cell(text=f"not tested: {row.reason}", tone="untested")
    if row.verdict == "indifferent":
        return Cell(text="no clear difference", detail=evidence(row.p_adjusted), tone="even")
    closer = row.a if row.verdict == "a" else row.b
    return Cell(text=names.measure(closer), detail=evidence(row.p_adjusted), tone="clear")
