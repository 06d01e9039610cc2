"""From checked tables and a plan to everything that a report says: the records of ``results.json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from analysis import rooms
from analysis.answers.careless_signs import careless_signs
from analysis.answers.columns import Scale
from analysis.answers.controls import control_checks
from analysis.answers.exclusions import Exclusion, careless_checks
from analysis.answers.input import prepare_input
from analysis.answers.input_files import InputFile
from analysis.answers.options import Told, untold
from analysis.answers.plan import Plan
from analysis.answers.rescaling import Rescaled
from analysis.answers.study_facts import StudyFacts
from analysis.answers.tables import AnswerTables
from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.contribution import TESTS
from analysis.comparisons.pair_tables import THESE_PEOPLE
from analysis.comparisons.ratings import RatingTest
from analysis.contribution import Analysis
from analysis.records.overview import GROUPS, MISSING, WarningRow
from analysis.records.results import Results
from analysis.records.row_tables import with_rows
from analysis.results import overview
from analysis.results.comparison_tests import TESTED
from analysis.results.conventions import conventions
from analysis.results.headline import headline_of
from analysis.results.place_words import about_places
from analysis.results.records import SCHEMA, make_results
from analysis.results.table_warnings import about_controls, about_sliders
from analysis.results.verdicts import as_decided, with_decisions
from analysis.results.verified import gather
from analysis.results.warnings import (
    about_documents,
    about_names,
    about_pairs,
    about_scores,
    about_spans,
    outdated_files,
    warn,
)
from analysis.statistics.record import rounded
from analysis.strengths.fit import DENSE
from analysis.verification.process import Verifier


def analyse(
    tables: AnswerTables,
    plan: Plan,
    *,
    study: StudyFacts | None = None,
    observed_power: float | None = None,
    told: Told = untold,
    verifier: Verifier | None = None,
) -> Results:
    """Analyse answers as planned.

    Parameters
    ----------
    tables : AnswerTables
        Checked tables (:func:`analysis.answers.tables.read_tables`).
    plan : Plan
        Error rate, exclusions, families, unit, expectations.
    study : StudyFacts, optional
        What the report says of the study; its order of systems and pairs is then used.
    observed_power : float, optional
        Level at which power at the effects found is added, only to reproduce Figure 2 of Ethayarajh & Jurafsky (2022).
    told : callable, optional
        Is told what is done now.
    verifier : Verifier, optional
        Is given the figures that libraries compute again; :func:`analysis.results.verified.with_verification` puts
        what it finds into the results.

    Returns
    -------
    Results
        What ``results.json`` holds. The same input gives the same output; numbers are rounded to
        12 significant digits.

    Raises
    ------
    AnalysisError
        When the tables do not allow what the plan asks for.
    """
    prepared = prepare_input(tables, plan, study)
    analysis = Analysis(
        prepared, (*rooms.CONTRIBUTIONS, TESTED, overview.COUNTED), told=told, observed_power=observed_power
    )
    results = with_decisions(without_raters(rounded(_results(analysis, tables))))
    said = as_decided(results)
    rows = (
        *warn(said, prepared.plan),
        *outdated_files(said, study),
        *about_names(tables.near_names),
        *about_places(said),
        *about_documents(tables.documents),
        *(about_scores(tables.codes, tables.other_scales) if study is None else ()),
        *(about_spans(tables.span_doubts) if study is None else ()),
        *(about_sliders(tables) if study is None else ()),
        *about_controls(said),
        *about_pairs(analysis.of(TESTS).untested),
    )
    results = with_warnings(results, rows, said)
    if verifier is not None:
        verifier.start(gather(results, analysis, thorough=verifier.thorough))
    return results


def _results(analysis: Analysis, asked: AnswerTables) -> Results:
    """Return all but what is made from other results; ``asked``: the answers as they were given."""
    prepared = analysis.prepared
    tables, plan, study = prepared.tables, prepared.plan, prepared.study
    told_sum = study is None or study.sum_explained
    signs = careless_signs(asked, plan, prepared.exclusions, sum_explained=told_sum)
    own = {
        "study": study.reported() if study else None,
        "careless": overview.careless_counts(careless_checks(tables, plan, prepared.exclusions), plan),
        "careless_signs": overview.sign_rows(signs),
        "careless_sign_counts": overview.sign_counts(signs, plan),
        "controls": tuple(control_checks(tables.controls, plan.lower_is_better)),
    }
    found = assembled(
        analysis,
        tables,
        prepared.exclusions,
        live=study is not None and study.live is not None,
        n_systems=max(len(order.systems) for order in prepared.orders.values()),
    )
    return make_results({**found, **own})


class Read(Protocol):
    """How answers were read, from tables or from their parts."""

    @property
    def inputs(self) -> Sequence[InputFile]: ...  # noqa: D102

    @property
    def scales(self) -> Sequence[Scale]: ...  # noqa: D102

    @property
    def missing_codes(self) -> Sequence[str]: ...  # noqa: D102

    @property
    def comparison_ends(self) -> tuple[float, float] | None: ...  # noqa: D102

    @property
    def rescaled(self) -> Sequence[Rescaled]: ...  # noqa: D102


def assembled(
    analysis: Analysis, read: Read, exclusions: Sequence[Exclusion], *, n_systems: int, live: bool = False
) -> dict[str, Any]:
    """Return by key what all rooms contribute, and what is of no room."""
    plan = analysis.plan
    return {
        "schema": SCHEMA,
        "settings": overview.settings(
            plan,
            inputs=read.inputs,
            scales=read.scales,
            missing_codes=read.missing_codes,
            comparison_ends=read.comparison_ends,
            rescaled=read.rescaled,
        ),
        "study": None,
        "groups": analysis.of(GROUPS),
        "exclusions": tuple(overview.exclusion_rows(exclusions)),
        "missing": analysis.of(MISSING),
        "warnings": (),
        "conventions": conventions(plan, live=live, many=n_systems > DENSE),
        **analysis.everything(),
    }


def with_warnings(results: Results, rows: tuple[WarningRow, ...], as_decided: Results | None = None) -> Results:
    """Add warnings, and say the most important, of a live study as it decided (``as_decided``)."""
    texts = tuple(row.text for row in rows)
    results, as_decided = (replace(one, warnings=texts, warning_rows=rows) for one in (results, as_decided or results))
    return with_rows(replace(results, headline=headline_of(as_decided)))


Test = TypeVar("Test", RatingTest, ChoiceTest)
BY_NAME = ("crossed", "z_scores")  # other tests, of who rated several outputs


def without_raters(results: Results) -> Results:
    """Take out of finished results what holds one annotator constant, or counts or compares annotators."""
    groups = {row.group for row in results.groups if row.unnamed is not None}
    if not groups:
        return results
    ratings = results.ratings
    ratings = replace(
        ratings,
        pairs=tuple(_without_raters(row) if row.group in groups else row for row in ratings.pairs),
        robustness=tuple(row for row in ratings.robustness if row.group not in groups or row.method not in BY_NAME),
        by_annotator=tuple(row for row in ratings.by_annotator if row.group not in groups),
    )
    pairs = tuple(_without_raters(row) if row.group in groups else row for row in results.choices.pairs)
    return replace(results, ratings=ratings, choices=replace(results.choices, pairs=pairs))


def _without_raters(row: Test) -> Test:
    return replace(row, unit_note=row.unit_note and THESE_PEOPLE, crossed_reason=None, most_of_one=None, all_alike=None)
