"""Ratings in the layouts of two studies of LLMs as raters: Chiang and Lee (2023), and Chhun et al. (2024)."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose
from typing import Any, Protocol

from analysis.correlations.rows import SystemCorrelation
from analysis.descriptives.rating_breakdowns import AnnotatorMean, SystemBreakdown, VariantMean
from analysis.figures.plain_text import shown_name
from analysis.report.cells import cell, criterion_cell
from analysis.report.correlations import measure_name
from analysis.report.document import Block, Cell, Column, Fold, Paragraph, Section, Table, build_table
from analysis.report.evidence import degree, evidence
from analysis.results.findings import confidence_words
from analysis.results.records import Results
from analysis.results.words import Names, interval, number, p_words, percent, plural, sentence

ABREAST = 4  # criteria in one table
BESIDE = 8  # LLMs with a table of their own beside people
ALL = "all criteria"
INTRO = (
    "The same ratings system by system, in the layouts of Chiang and Lee (2023) and Chhun et al. (2024). Words for "
    "the size of tau follow Botsch (2011): below .1 very weak, below .2 weak, below .3 moderate, else strong."
)
SPREAD = "Below each mean its standard deviation; where answers repeat, over their means, then over single answers."


def rating_details(results: Results) -> Section | None:
    """Show means, agreement and correlations of each system, and means by way of asking and by person."""
    names, rated = Names(results), results.ratings
    rows = rated.by_system
    if len({row.system for row in rows}) < 2:
        return None
    tables = {
        "Means and agreement of each system": _means_and_agreement(rows, names),
        "How alike two raters order the outputs of one system": _between_raters(rows, names),
        "LLMs beside people, within each system": _with_people(results.correlations_by_system, names),
        "Mean ratings of people beside each LLM": _beside_people(rows, names),
        "Ways of asking": _variants(rated.by_variant, names, results),
        "Mean ratings of each person": _people(rated.by_annotator, names),
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
    by = {(row.group, row.criterion, row.system): row for row in known}
    places = list(dict.fromkeys((row.group, row.criterion) for row in known))
    systems = _distinct(rows, "system")
    cells = [
        [cell(names.group(group)), criterion_cell(names, criterion)]
        + [_tau(by.get((group, criterion, system))) for system in systems]
        for group, criterion in places
    ]
    columns = [Column(title="Raters"), Column(title="Criterion"), *_systems(rows, names)]
    caption = "Kendall\u2019s tau between two raters, averaged over all pairs of raters"
    return [build_table("details_pairs", caption, columns, cells, constant=("Raters",))]


def _tau(row: SystemBreakdown | None) -> Cell:
    if row is None or row.mean_kendall_tau is None:
        return _unknown(None if row is None else row.reason)
    tau = row.mean_kendall_tau
    return cell(number(tau), detail=f"{degree(tau)}; {plural(row.n_pairs or 0, 'pair')}")


def _with_people(rows: Sequence[SystemCorrelation], names: Names) -> list[Table]:
    """Lay out Table 2 of Chiang and Lee: a row a criterion, a column a system."""
    by = {(row.a, row.b, row.criterion, row.system): row for row in rows}
    systems = _distinct(rows, "system")
    places = list(dict.fromkeys((row.a, row.b, row.criterion) for row in rows))
    cells = [
        [
            cell(measure_name(names, a)),
            cell(measure_name(names, b)),
            criterion_cell(names, criterion),
            *(_correlation(by.get((a, b, criterion, system))) for system in systems),
        ]
        for a, b, criterion in places
    ]
    columns = [Column(title="Rater"), Column(title="With"), Column(title="Criterion"), *_systems(rows, names)]
    notes = [
        "Mean rating of each output on both sides. p is corrected for all raters and systems of a criterion "
        "(Benjamini-Hochberg); words for evidence follow Muff et al. (2022)."
    ]
    caption = "Kendall\u2019s tau with people over the outputs of one system"
    return [build_table("details_tau", caption, columns, cells, notes, constant=("Rater", "With"))] if rows else []


def _correlation(row: SystemCorrelation | None) -> Cell:
    if row is None or row.value is None:
        return _unknown(None if row is None else row.reason)
    words = [degree(row.value)]
    if row.p_adjusted is not None:
        words.append(f"{evidence(row.p_adjusted)}, {p_words(row.p_adjusted)}")
    return cell(number(row.value), detail="; ".join(words))


def _beside_people(rows: Sequence[SystemBreakdown], names: Names) -> list[Table]:
    """Lay out Tables 4 and 11 of Chiang and Lee: a row a system, people's criteria and then the LLM's."""
    groups = _distinct(rows, "group")
    llms = [group for group in groups if names.kind(group) == "llm"]
    people = [group for group in groups if names.kind(group) != "llm"]
    by = {(row.group, row.criterion, row.system): row for row in rows}
    tables = []
    for place, llm in enumerate(llms[:BESIDE] if people else ()):
        sides = list(dict.fromkeys((row.group, row.criterion) for row in rows if row.group in (*people, llm)))
        titles = [f"{names.group(group)}: {names.criterion(criterion)}" for group, criterion in sides]
        columns = [Column(title="System"), *(Column(title=title, numeric=True) for title in titles)]
        cells = [
            [cell(names.system(system)), *(mean_cell(by.get((*side, system)), spread=False) for side in sides)]
            for system in _distinct(rows, "system")
        ]
        tables.append(build_table(f"details_beside-{place + 1}", f"Mean ratings: {names.group(llm)}", columns, cells))
    return tables


def _variants(rows: Sequence[VariantMean], names: Names, results: Results) -> list[Table]:
    """Lay out means by rater and way of asking, and for people system by system (Table 5 of Chiang and Lee)."""
    if not rows:
        return []
    pooled = {(row.rater, row.criterion, row.variant): row for row in rows if row.system is None}
    ways, raters = _distinct(rows, "variant"), list(dict.fromkeys((rater, criterion) for rater, criterion, _ in pooled))
    columns = [
        Column(title="Rater"),
        Column(title="Criterion"),
        *(Column(title=way or "\u2013", numeric=True) for way in ways),
    ]
    cells = [
        [
            cell(shown_name(rater)),
            cell(ALL) if criterion is None else criterion_cell(names, criterion),
            *(_mean_with_interval(pooled.get((rater, criterion, way))) for way in ways),
        ]
        for rater, criterion in raters
    ]
    notes = [f"Below each mean its {confidence_words(results)} interval, clustered by unit."]
    caption = "Mean rating by rater and way of asking, all systems together"
    tables = [build_table("details_variants", caption, columns, cells, notes)]
    own = [row for row in rows if row.annotator_kind != "llm" and row.system is not None]
    by = {(row.rater, row.criterion or ALL, row.variant, row.system): row for row in own}
    asked = list(dict.fromkeys((rater, criterion, way) for rater, criterion, way, _ in by))
    systems, order = _distinct(own, "system"), {name: place for place, name in enumerate(_distinct(own, "criterion"))}
    asked.sort(key=lambda place: (place[0], order[place[1]]))
    columns = [Column(title="Raters"), Column(title="Criterion"), Column(title="Asked as"), *_systems(own, names)]
    cells = [
        [cell(shown_name(rater)), criterion_cell(names, criterion), cell(shown_name(way) or "\u2013")]
        + [mean_cell(by.get((rater, criterion, way, system))) for system in systems]
        for rater, criterion, way in asked
    ]
    if own:
        caption = "Mean rating of each system by way of asking people"
        tables.append(build_table("details_asked", caption, columns, cells, [SPREAD], constant=("Raters",)))
    return tables


def _people(rows: Sequence[AnnotatorMean], names: Names) -> list[Table]:
    """Lay out Table 12 of Chiang and Lee: a row a person, a column a system."""
    by = {(row.group, row.criterion, row.annotator_id, row.system): row for row in rows}
    systems = _distinct(rows, "system")
    groups, criteria = ({name: n for n, name in enumerate(_distinct(rows, key))} for key in ("group", "criterion"))
    places = sorted(
        dict.fromkeys((row.group, row.criterion, row.annotator_id) for row in rows),
        key=lambda place: (groups[place[0]], criteria[place[1]]),
    )
    cells = [
        [cell(names.group(group)), criterion_cell(names, criterion), cell(shown_name(annotator))]
        + [mean_cell(by.get((group, criterion, annotator, system))) for system in systems]
        for group, criterion, annotator in places
    ]
    columns = [Column(title="Group"), Column(title="Criterion"), Column(title="Rater"), *_systems(rows, names)]
    made = build_table(
        "details_people", "Mean ratings of each person", columns, cells, [SPREAD], constant=("Group", "Criterion")
    )
    return [made] if rows else []


def _systems(rows: Sequence[Any], names: Names) -> list[Column]:
    return [Column(title=names.system(system), numeric=True) for system in _distinct(rows, "system")]


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


def _unknown(reason: str | None = None) -> Cell:
    return Cell(text="\u2013", detail=reason or "", known=False)
