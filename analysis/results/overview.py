"""What stands in results.json beside the tests: settings, groups, missing answers."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import polars as pl
import scipy

from analysis.answers.careless import CarelessCheck, CarelessRule, declared_rules
from analysis.answers.columns import Scale
from analysis.answers.exclusions import Exclusion, excluded_counts
from analysis.answers.order import Order
from analysis.answers.plan import PairsFrom, Plan
from analysis.answers.rescaling import Rescaled
from analysis.answers.study_facts import StudyFacts
from analysis.answers.tables import InputFile, answered_rows
from analysis.answers.unnamed import MEANS, cell_of, is_nameless
from analysis.statistics.record import AnnotatorKind, Count, Positive, Record, Share, Source, record_like
from spa.simulation import SIMULATED_RATER

FORMS = ("identical", "variant")
WarningKind = Literal[
    "llm_scope",
    "inconsistent_assignments",
    "simulated",
    "few_annotators",
    "many_excluded",
    "all_excluded",
    "repeat_submissions",
    "untested",
    "asymmetric_directions",
    "unpaired_ratings",
    "few_paired",
    "paired_only",
    "few_values",
    "highly_skewed",
    "no_strength",
    "few_clusters",
    "few_units",
    "few_raters",
    "level_not_held",
    "missing_answers",
    "few_outputs_read",
    "dropped_items",
    "one_gave_most",
    "documents",
    "near_names",
    "places",
    "codes",
    "maybe_codes",
    "other_scales",
    "clean_outputs",
    "category_weights",
    "output_lengths",
    "weights_reverse",
    "looked_at",
    "not_ended",
    "decision_contradicted",
    "outdated_file",
    "metric_reference",
    "controls",
    "control_like",
    "unnamed",
    "constant_scores",
    "summed",
]
LeftOut = Literal[
    "agreement",
    "documents",
    "near_items",
    "both_bad",
    "codes",
    "strengths_both_ways",
    "person_correlations",
    "variant_means",
    "ordinal_model",
    "repeated_scores",
    "z_scores",
    "group_correlations",
    "stand_in",
    "annotator_ranks",
    "visit_ranks",
    "bias",
    "prediction_powered",
    "explanations",
    "self_agreement",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Settings(Record):
    """Everything that the numbers depend on."""

    fwer: float
    """Error rate of each family: familywise under holm, of false discoveries under bh."""
    consistency_tau: float | None
    """Largest sum of two directions that is kept; null: not applied."""
    confidence: float
    seed: Count
    family: Literal["criterion", "all"] | None = None
    correction: Literal["holm", "bh"] | None = None
    """How each family is corrected: Holm, or Benjamini-Hochberg."""
    unit: Literal["auto", "annotator", "item"] | None = None
    rating_test: Literal["auto", "welch"] | None = None
    """Welch: also where an annotator rated both systems on one item."""
    max_failed_checks: Count | None = None
    max_failed_controls: Count | None = None
    """Checks that may be failed where controls (--control) count as checks; null: nobody leaves for controls."""
    min_outputs_seen: float | None = None
    """Least share of the outputs shown that a person must have seen; null, as of the next two: no such rule."""
    max_words_per_minute: float | None = None
    """Fastest reading allowed, in words a minute."""
    max_same_answers: float | None = None
    """Largest share of a person's answers that may be one and the same."""
    repeat_submissions: Literal["exclude", "first"] | None = None
    extra_answers: Literal["exclude", "keep"] | None = None
    """Answers that came when the person's place was somebody else's."""
    incomplete_answers: Literal["exclude", "keep"] | None = None
    """Finished pages of visits that did not end."""
    regularisation: float | None = None
    epsilon: Share | None = None
    """Alternative-annotator test: share of outputs that an LLM may fall behind a person."""
    equivalence_margin: float | None = None
    """Distance from 0.5 that does not matter; null: equivalence not tested."""
    equivalence_margin_ratings: float | None = None
    """The same for mean ratings, in points."""
    lower_is_better: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    """Pairs compared, whose tests alone form the families; empty: every two systems are compared."""
    pairs_from: PairsFrom | None = None
    """Who named them: the study, the plan (--pair), else the preferences asked, else the expectations."""
    references: tuple[str, ...] = ()
    """Systems named as what metrics compare the others with; left out of the metrics' correlations."""
    scales: tuple[Scale, ...] = ()
    missing_codes: tuple[str, ...] = ()
    """Answers that were said to mean "no answer" (--missing)."""
    rescaled: tuple[Rescaled, ...] = ()
    """Scores that were mapped onto the scale of the others (--rescale)."""
    versions: Mapping[str, str]
    inputs: tuple[InputFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Group(Record):
    """Annotators who are analysed together."""

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    annotator_kind: AnnotatorKind
    annotators: Count
    assignments: Count
    excluded_annotators: Count
    excluded_assignments: Count
    form: Literal["identical", "variant"] | None
    readout: str | None = None
    """Verbalised or logit; null where the answers do not say."""
    unnamed: Literal["lists", "means"] | None = None
    """People whom nobody named: lists of scores, or means of several people; then no annotator is counted."""
    fewest_an_output: Count | None = None
    """Of unnamed people in lists: how many answered about an output (or pair) at least."""
    most_an_output: Count | None = None
    simulated: bool = False
    """Of an LLM: its answers were made by the program that rehearsals ask in an LLM's place."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExclusionRow(Record):
    """One annotator or assignment that left the analysis."""

    annotator_id: str
    assignment_id: str | None
    """Null: the whole annotator."""
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    rule: str
    """Self_consistency, screening, attention_checks, repeat_submissions, extra_answers, incomplete_answers,
    ended_early, outputs_seen, reading_speed, same_answers, or a rule of the table of exclusions, such as review."""
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CarelessCount(Record):
    """How many people of a group a declared rule of careless answering judged."""

    rule: CarelessRule
    bound: float
    group: str
    annotators: Count
    not_checkable: Count
    """Who gave too little to judge by, and is kept."""
    excluded: Count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MissingCount(Record):
    """Answers of one kind that could not be used."""

    source: Source
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    reason: str
    level: str | None = None
    """What the answer would have been, where that can be determined: 7, or 4 or 5."""
    n: Positive
    system: str | None = None
    """The one system that all of these are about; null where they are about several, or all pairs have it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WarningRow(Record):
    """What a reader must keep in mind; rows of one kind say the same of several groups, criteria or sources."""

    kind: WarningKind
    group: str | None
    """Null: about the study."""
    text: str
    left_out: tuple[LeftOut, ...] = ()
    """What a table read in parts does not give."""

    @property
    def about(self) -> str:
        """Return the text after the id of its group, with which it begins, for reports that name the group."""
        return self.text[len(self.group or "") :]


def groups(
    answers: Mapping[str, pl.DataFrame],
    order: Sequence[tuple[str, AnnotatorKind]],
    exclusions: Sequence[Exclusion],
    study: StudyFacts | None,
) -> tuple[Group, ...]:
    """Describe each group: who, how many, how many left, whether the form was the identical one, and the readout."""
    columns = ["group", "annotator_id", "assignment_id", "variant"]
    seen = pl.concat([table.select(columns).unique().cast(pl.String) for table in answers.values()]).unique()
    nameless = seen.filter(is_nameless()).group_by("group").agg(pl.col("annotator_id").first())
    visits = pl.struct("annotator_id", "assignment_id").filter(pl.col("assignment_id").is_not_null())
    counted = seen.group_by("group").agg(
        pl.col("annotator_id").n_unique().alias("annotators"),
        visits.n_unique().alias("assignments"),
        pl.col("variant").is_not_null().any(),
    )
    given = {column: _given(answers, column) for column in ("form", "readout")}
    rows = group_rows(order, counted, given, excluded_counts(exclusions, seen), study)
    who = dict(nameless.iter_rows())
    return tuple(
        replace(row, **_unnamed(who[row.group], row.group, answers)) if row.group in who else row for row in rows
    )


def _unnamed(annotator: str, group: str, answers: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """Return the fields of a group of people whom nobody named, whose number is not known."""
    if annotator.startswith(MEANS):
        return {"annotators": 0, "assignments": 0, "unnamed": "means"}
    counts = [
        answered_rows(table).filter(pl.col("group") == group).group_by(cell_of(table, source)).len()["len"]
        for source, table in answers.items()
    ]
    every = pl.concat(counts).to_numpy()
    return {
        "annotators": 0,
        "assignments": 0,
        "unnamed": "lists",
        "fewest_an_output": int(every.min(initial=every.max(initial=0))),
        "most_an_output": int(every.max(initial=0)),
    }


def group_rows(
    order: Sequence[tuple[str, AnnotatorKind]],
    counted: pl.DataFrame,
    given: Mapping[str, Mapping[str, Sequence[str]]],
    gone: tuple[Counter[str], Counter[str]],
    study: StudyFacts | None = None,
) -> tuple[Group, ...]:
    """Do what :func:`groups` does, from counts.

    Parameters
    ----------
    order : sequence of (str, str)
        Group and kind, in the order of the results.
    counted : DataFrame
        ``group, annotators, assignments, variant``: how many there are, and whether a variant is named.
    given : mapping of str to mapping
        What the columns "form" and "readout" say, by group.
    gone : tuple of Counter
        Annotators and assignments excluded, by group.
    study : StudyFacts, optional
        Where it is known, a variant's name tells that the form was another one.
    """
    known = {row.pop("group"): row for row in counted.to_dicts()}
    return tuple(
        Group(
            group=group,
            annotator_kind=kind,
            annotators=known[group]["annotators"],
            assignments=known[group]["assignments"],
            excluded_annotators=gone[0][group],
            excluded_assignments=gone[1][group],
            form=_form(given["form"].get(group, ()), study, variant=known[group]["variant"]),
            readout=next(iter(given["readout"].get(group, ())), None),
            simulated=kind == "llm" and _is_simulated(group, study),
        )
        for group, kind in order
    )


def _is_simulated(group: str, study: StudyFacts | None) -> bool:
    """Tell whether a group, an LLM's id or id/variant, is the rater that rehearsals ask."""
    raters = (SIMULATED_RATER, *(study.simulated_raters if study is not None else ()))
    return any(group == rater or group.startswith(f"{rater}/") for rater in raters)


def _given(answers: Mapping[str, pl.DataFrame], column: str) -> dict[str, list[str]]:
    """Return what a column says of each group, over all tables that have it."""
    given = [
        table.select("group", column).drop_nulls().unique().cast(pl.String)
        for table in answers.values()
        if column in table.columns
    ]
    found: dict[str, list[str]] = {}
    for group, value in pl.concat(given).unique().sort("group", column).iter_rows() if given else ():
        found.setdefault(group, []).append(value)
    return found


def _form(given: Sequence[str], study: StudyFacts | None, *, variant: bool) -> Literal["identical", "variant"] | None:
    """Tell whether a group read what people read; the answers say it, else a variant's name has to do."""
    known = [word for word in given if word in FORMS]
    if known:
        return "variant" if "variant" in known else "identical"
    return None if study is None else "variant" if variant else "identical"


def missing(answers: Mapping[str, pl.DataFrame], orders: Mapping[str, Order]) -> tuple[MissingCount, ...]:
    """Count the answers that could not be used, by source, group, criterion, reason and level."""
    rows: list[MissingCount] = []
    for source, table in answers.items():
        order = orders[source]
        level = pl.col("missing_level") if "missing_level" in table.columns else pl.lit(None, dtype=pl.String)
        lost = table.filter(pl.col("value").is_null())
        by = ("group", "criterion", pl.col("missing_reason").alias("reason"), level.alias("level"))
        counted = lost.group_by(*by).agg(pl.len().alias("n"))
        system = _only_system(lost, order)
        own = missing_rows(source, counted.with_columns(pl.col(pl.Categorical).cast(pl.String)), order)
        rows += [replace(row, system=system) for row in own]
    return tuple(rows)


def _only_system(lost: pl.DataFrame, order: Order) -> str | None:
    """Return the system that all missing answers of a source are about; of pairs the one in all, of several pairs."""
    if lost.is_empty():
        return None
    if "system" in lost.columns:
        systems = lost["system"].unique().cast(pl.String).to_list()
        return systems[0] if len(systems) == 1 and len(order.systems) > 1 else None
    pairs = lost.select("system_x", "system_y").unique().cast(pl.String).rows()
    shared = set(pairs[0]).intersection(*map(set, pairs))
    return next(iter(shared)) if len(shared) == 1 and any(not shared & set(pair) for pair in order.pairs) else None


def missing_rows(source: str, counted: pl.DataFrame, order: Order) -> list[MissingCount]:
    """Return the rows of ``missing`` of one source; ``counted`` has group, criterion, reason, level and n."""
    return sorted(
        (MissingCount(**{"source": source, **row}) for row in counted.to_dicts()),
        key=lambda row: (
            order.groups.index(row.group),
            order.criteria.index(row.criterion),
            row.reason,
            row.level or "",
        ),
    )


def exclusion_rows(exclusions: Sequence[Exclusion]) -> tuple[ExclusionRow, ...]:
    """Return the rows of exclusions."""
    return tuple(record_like(ExclusionRow, row) for row in exclusions)


def careless_counts(checks: Sequence[CarelessCheck], plan: Plan) -> tuple[CarelessCount, ...]:
    """Count people by declared rule and group."""
    bounds = declared_rules(plan)
    judged = Counter((check.rule, check.group) for check in checks)
    unknown = Counter((check.rule, check.group) for check in checks if check.evidence is None)
    excluded = Counter((check.rule, check.group) for check in checks if check.excluded)
    return tuple(
        CarelessCount(
            rule=rule,
            bound=bounds[rule],
            group=group,
            annotators=judged[rule, group],
            not_checkable=unknown[rule, group],
            excluded=excluded[rule, group],
        )
        for rule, group in judged
    )


def settings(
    plan: Plan,
    *,
    inputs: Sequence[InputFile],
    scales: Sequence[Scale],
    missing_codes: Sequence[str] = (),
    rescaled: Sequence[Rescaled] = (),
) -> Settings:
    """Name everything that the numbers depend on."""
    tau = plan.consistency_tau
    return record_like(
        Settings,
        plan,
        consistency_tau=None if tau is None else float(tau),
        lower_is_better=tuple(sorted(plan.lower_is_better)),
        scales=tuple(scales),
        missing_codes=tuple(missing_codes),
        rescaled=tuple(rescaled),
        versions={
            "python": platform.python_version(),
            "spa-eval": version("spa-eval"),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "polars": pl.__version__,
        },
        inputs=tuple(inputs),
    )
