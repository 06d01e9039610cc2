"""Ratings in the layouts of two studies of LLMs as raters: Chiang and Lee (2023), and Chhun et al. (2024)."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose
from typing import Any, Protocol

from analysis.contribution import Shown
from analysis.correlations.contribution import CORRELATIONS_BY_SYSTEM
from analysis.correlations.group_correlations import SystemCorrelation
from analysis.descriptives.identical_pairs import IdenticalPairRating
from analysis.descriptives.rating_breakdowns import AnnotatorMean, SystemBreakdown, VariantMean
from analysis.figures.plain_text import shown_name
from analysis.printing.cells import Field, cell, columns_of, criterion_cell, places_of, tabulate, text_column
from analysis.printing.document import Block, Cell, Column, Fold, Paragraph, Section, Table, build_table
from analysis.printing.evidence import degree, evidence
from analysis.printing.names import Names
from analysis.printing.words import count, interval, number, p_words, percent, plural, sentence
from analysis.statistics.reasons import Reason

ABREAST = 4  # criteria in one table
BESIDE = 8  # LLMs with a table of their own beside people
ALL = "all criteria"
DAGGER = "\u2020"
COPY = "the source itself"
IDENTICAL = "Rated beside an equal text: whoever compares the two gives the best rating"
INTRO = (
    "The same ratings system by system, in the layouts of Chiang and Lee (2023) and Chhun et al. (2024). Words for "
    "the size of tau follow Botsch (2011): below .1 very weak, below .2 weak, below .3 moderate, else strong."
)
SPREAD = "Below each mean its standard deviation; where answers repeat, over their means, then over single answers."


def rating_details(
    rows: Sequence[SystemBreakdown],
    by_variant: Sequence[VariantMean],
    by_annotator: Sequence[AnnotatorMean],
    pairs: Sequence[IdenticalPairRating],
    shown: Shown,
) -> Section | None:
    """Show means, agreement and correlations of each system, and means by way of asking and by person."""
    names, correlations = shown.names, shown.of(CORRELATIONS_BY_SYSTEM)
    if len({row.system for row in rows}) < 2:
        return None
    tables = {
        "Means and agreement of each system": _means_and_agreement(rows, names),
        "How alike two raters order the outputs of one system": _between_raters(rows, names),
        "LLMs beside people, within each system": _with_people(correlations, names),
        "Mean ratings of people beside each LLM": _people_and_llms(rows, pairs, names),
        "Ways of asking": _variants(by_variant, shown),
        "Mean ratings of each person": _people(by_annotator, names),
    }
    folds = [Fold(summary=title, blocks=tuple(found)) for title, found in tables.items() if found]
    blocks: tuple[Block, ...] = (Paragraph(text=INTRO), *folds)
    return Section(id="rating-details", title="Ratings system by system", blocks=blocks) if folds else None


def _distinct(rows: Sequence[Any], key: str) -> list[str]:
    return list(dict.fromkeys(getattr(row, key) for row in rows))


def _means_and_agreement(rows: Sequence[SystemBreakdown], names: Names) -> list[Table]:
    """Lay out Table 1 of Chiang and Lee: a block a system, two columns a criterion."""
    by = {(row.system, row.group, row.criterion): row for row in rows}
    systems = _distinct(rows, "system")
    places = list(dict.fromkeys((row.system, row.group) for row in rows))
    places.sort(key=lambda place: systems.index(place[0]))
    criteria = _distinct(rows, "criterion")
    tables = []
    for start in range(0, len(criteria), ABREAST):
        own = criteria[start : start + ABREAST]
        columns = [Column(title="System"), Column(title="Raters")]
        for name in own:
            columns += [
                Column(title=sentence(names.criterion(name)), numeric=True),
                Column(title=f"Agreement ({names.criterion(name)})", numeric=True),
            ]
        cells = [
            [
                cell(names.system(system)),
                cell(names.group(group)),
                *(
                    part
                    for name in own
                    for part in (mean_cell(by.get((system, group, name))), _alpha(by.get((system, group, name))))
                ),
            ]
            for system, group in places
        ]
        notes = [SPREAD, "Agreement: Krippendorff\u2019s alpha, below it the share of outputs that all rated alike."]
        stem = "details_systems" if start == 0 else f"details_systems-{start // ABREAST + 1}"
        tables.append(build_table(stem, "Mean ratings and agreement of each system", columns, cells, notes))
    return tables


def _between_raters(rows: Sequence[SystemBreakdown], names: Names) -> list[Table]:
    """Lay out Table 6 of Chiang and Lee: a row a criterion, a column a system."""
    known = [row for row in rows if row.n_annotators]
    if not known:
        return []

    def place(row: SystemBreakdown) -> tuple[str, ...]:
        return row.group, row.criterion

    fields: list[Field[SystemBreakdown]] = [
        text_column("Raters", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion)),
        *columns_of(known, place, _system, _systems(rows, names), _tau),
    ]
    caption = "Kendall\u2019s tau between two raters, averaged over all pairs of raters"
    return [tabulate("details_pairs", caption, fields, places_of(known, place), constant=("Raters",))]


def _tau(row: SystemBreakdown | None) -> Cell:
    if row is None or row.mean_kendall_tau is None:
        return _unknown(None if row is None else row.reason)
    tau = row.mean_kendall_tau
    return cell(number(tau), detail=f"{degree(tau)}; {plural(row.n_pairs or 0, 'pair')}")


def _with_people(rows: Sequence[SystemCorrelation], names: Names) -> list[Table]:
    """Lay out Table 2 of Chiang and Lee: a row a criterion, a column a system."""
    if not rows:
        return []

    def place(row: SystemCorrelation) -> tuple[str, ...]:
        return row.a, row.b, row.criterion

    fields: list[Field[SystemCorrelation]] = [
        text_column("Rater", lambda row: names.measure(row.a)),
        text_column("With", lambda row: names.measure(row.b)),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion)),
        *columns_of(rows, place, _system, _systems(rows, names), _correlation),
    ]
    notes = ["Mean rating of each output on both sides."]
    if any(row.p_adjusted is not None for row in rows):
        notes[0] += (
            " p is corrected for all raters and systems of a criterion (Benjamini-Hochberg); words for evidence follow "
            "Muff et al. (2022)."
        )
    caption = "Kendall\u2019s tau with people over the outputs of one system"
    return [tabulate("details_tau", caption, fields, places_of(rows, place), notes, constant=("Rater", "With"))]


def _correlation(row: SystemCorrelation | None) -> Cell:
    if row is None or row.value is None:
        return _unknown(None if row is None else row.reason)
    words = [degree(row.value)]
    if row.p_adjusted is not None:
        words.append(f"{evidence(row.p_adjusted)}, {p_words(row.p_adjusted)}")
    return cell(number(row.value), detail="; ".join(words))


def _people_and_llms(
    rows: Sequence[SystemBreakdown], pairs: Sequence[IdenticalPairRating], names: Names
) -> list[Table]:
    """Lay out Tables 4 and 11 of Chiang and Lee: a row a system, people's criteria and then the LLM's.

    Means of identical pairs are marked: of a system whose outputs equal their source, in its row; of copies shown as a
    check, in a row of their own.
    """
    groups = _distinct(rows, "group")
    llms = [group for group in groups if names.kind(group) == "llm"]
    people = [group for group in groups if names.kind(group) != "llm"]
    copies = {(one.group, one.criterion, one.system): one for one in pairs if one.n}

    def side(row: SystemBreakdown) -> tuple[str, str]:
        return row.group, row.criterion

    def is_copy(row: SystemBreakdown | None) -> bool:
        known = None if row is None else copies.get((row.group, row.criterion, row.system))
        return known is not None and known.n == known.n_of_system

    def mean(row: SystemBreakdown | None) -> Cell:
        found = mean_cell(row, spread=False)
        return cell(f"{found.text}{DAGGER}") if is_copy(row) else found

    tables = []
    for place, llm in enumerate(llms[:BESIDE] if people else (), start=1):
        sides = dict.fromkeys(side(row) for row in rows if row.group in (*people, llm))
        columns = [Column(title="System")]
        columns += [Column(title=f"{names.group(of)}: {names.criterion(by)}", numeric=True) for of, by in sides]
        cells = [
            [cell(names.system(system)), *(mean(_of(rows, system, own)) for own in sides)]
            for system in _distinct(rows, "system")
        ]
        checks = [copies.get((*own, None)) for own in sides]
        if any(checks):
            shown = (None if one is None else cell(f"{number(one.mean)}{DAGGER}") for one in checks)
            cells.append([cell(COPY), *(_unknown() if one is None else one for one in shown)])
        best = {count(one.expected) for one in pairs if (one.group, one.criterion) in sides}
        marked = any(checks) or any(is_copy(row) for row in rows if side(row) in sides)
        notes = [f"{DAGGER} {IDENTICAL} ({', '.join(sorted(best))})."] if marked else []
        caption = f"Mean ratings: {names.group(llm)}"
        tables.append(build_table(f"details_beside-{place}", caption, columns, cells, notes))
    return tables


def _of(rows: Sequence[SystemBreakdown], system: str, side: tuple[str, str]) -> SystemBreakdown | None:
    return next((row for row in rows if (row.system, row.group, row.criterion) == (system, *side)), None)


def _variants(rows: Sequence[VariantMean], shown: Shown) -> list[Table]:
    """Lay out means by rater and way of asking, and for people system by system (Table 5 of Chiang and Lee)."""
    if not rows:
        return []
    names = shown.names

    def rated(row: VariantMean) -> tuple[str | None, ...]:
        return row.rater, row.criterion

    def asked(row: VariantMean) -> tuple[str | None, ...]:
        return row.rater, row.criterion, row.variant

    def criterion(row: VariantMean) -> str | Cell:
        return ALL if row.criterion is None else criterion_cell(names, row.criterion)

    pooled = [row for row in rows if row.system is None]
    ways = {way: way or "\u2013" for way in _distinct(rows, "variant")}
    fields: list[Field[VariantMean]] = [
        text_column("Rater", lambda row: shown_name(row.rater)),
        text_column("Criterion", criterion),
        *columns_of(pooled, rated, lambda row: row.variant, ways, _mean_with_interval),
    ]
    notes = [f"Below each mean its {shown.confidence} confidence interval, clustered by unit."]
    caption = "Mean rating by rater and way of asking, all systems together"
    tables = [tabulate("details_variants", caption, fields, places_of(pooled, rated), notes)]
    own = [row for row in rows if row.annotator_kind != "llm" and row.system is not None]
    if own:
        order: list[str | None] = [*_distinct(own, "criterion")]
        fields = [
            text_column("Raters", lambda row: shown_name(row.rater)),
            text_column("Criterion", criterion),
            text_column("Asked as", lambda row: shown_name(row.variant) or "\u2013"),
            *columns_of(own, asked, _system, _systems(own, names), mean_cell),
        ]
        caption = "Mean rating of each system by way of asking people"
        lines = sorted(places_of(own, asked), key=lambda row: (row.rater, order.index(row.criterion)))
        tables.append(tabulate("details_asked", caption, fields, lines, [SPREAD], constant=("Raters",)))
    return tables


def _people(rows: Sequence[AnnotatorMean], names: Names) -> list[Table]:
    """Lay out Table 12 of Chiang and Lee: a row a person, a column a system."""
    if not rows:
        return []

    def place(row: AnnotatorMean) -> tuple[str, ...]:
        return row.group, row.criterion, row.annotator_id

    groups, criteria = _distinct(rows, "group"), _distinct(rows, "criterion")
    fields: list[Field[AnnotatorMean]] = [
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion)),
        text_column("Rater", lambda row: shown_name(row.annotator_id)),
        *columns_of(rows, place, _system, _systems(rows, names), mean_cell),
    ]
    shown = sorted(places_of(rows, place), key=lambda row: (groups.index(row.group), criteria.index(row.criterion)))
    constant = ("Group", "Criterion")
    return [tabulate("details_people", "Mean ratings of each person", fields, shown, [SPREAD], constant=constant)]


def _system(row: Any) -> str:
    return str(row.system)


def _systems(rows: Sequence[Any], names: Names) -> dict[str, str]:
    return {system: names.system(system) for system in _distinct(rows, "system")}


class HasMean(Protocol):
    """A row with a mean and its standard deviation."""

    @property
    def mean(self) -> float | None: ...  # noqa: D102

    @property
    def sd(self) -> float | None: ...  # noqa: D102


def mean_cell(row: HasMean | None, *, spread: bool = True) -> Cell:
    """Return a mean, and below it the standard deviation."""
    if row is None:
        return _unknown()
    if not spread or row.sd is None:
        return cell(number(row.mean))
    single = row.sd_answers if isinstance(row, SystemBreakdown) and row.sd_answers is not None else row.sd
    repeated = f"; answers {number(single)}" if not isclose(single, row.sd, rel_tol=1e-9) else ""
    return cell(number(row.mean), detail=f"({number(row.sd)}{repeated})")


def _mean_with_interval(row: VariantMean | None) -> Cell:
    if row is None:
        return _unknown()
    return cell(number(row.mean), detail=interval(row.ci_low, row.ci_high) if row.ci_low is not None else "")


def _alpha(row: SystemBreakdown | None) -> Cell:
    if row is None or (row.alpha is None and row.exact_agreement is None):
        return _unknown()
    exact = row.exact_agreement
    return cell(number(row.alpha), detail="" if exact is None else percent(exact))


def _unknown(reason: Reason | None = None) -> Cell:
    return Cell(text="\u2013", detail=str(reason or ""), known=False)
