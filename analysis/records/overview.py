"""What stands in results.json beside what rooms contribute: settings, groups, exclusions, missing answers, warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from analysis.answers.careless import CarelessRule
from analysis.answers.careless_signs import SignKind
from analysis.answers.columns import Scale
from analysis.answers.input_files import InputFile
from analysis.answers.plan import PairsFrom, PostScreening
from analysis.answers.rescaling import Rescaled
from analysis.records.results import rows
from analysis.statistics.record import AnnotatorKind, Count, Positive, Record, Share, Source

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
    "uneven",
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
    "items_decide",
    "own_items",
    "looked_at",
    "not_ended",
    "decision_contradicted",
    "audit_drawn",
    "outdated_file",
    "metric_reference",
    "controls",
    "control_like",
    "unnamed",
    "constant_scores",
    "summed",
    "careless",
    "untouched_sliders",
]
LeftOut = Literal[
    "agreement",
    "documents",
    "near_items",
    "both_bad",
    "both_orders",
    "strengths_both_ways",
    "person_correlations",
    "serial_context",
    "variant_means",
    "ordinal_model",
    "crossed_samples",
    "repeated_scores",
    "z_scores",
    "group_correlations",
    "stand_in",
    "annotator_ranks",
    "visit_ranks",
    "bias",
    "prediction_powered",
    "codes",
    "explanations",
    "self_agreement",
    "careless_signs",
    "single_answers",
    "people_differ",
    "third_systems",
]  # in the order in which they are named


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
    """Least share of the outputs shown that a person must have seen; null, as of the next three: no such rule."""
    max_words_per_minute: float | None = None
    """Fastest reading allowed, in words a minute."""
    max_reading_speed: float | None = None
    """Fastest reading allowed, in multiples of the usual silent speed of the texts' script."""
    max_same_answers: float | None = None
    """Largest share of a person's answers that may be one and the same."""
    usual_answer: float | None = None
    """Share of an answer among people who vary theirs, from which giving it always excludes nobody; null: none."""
    post_screening: tuple[PostScreening, ...] = ()
    """Rules of listening tests by which people leave."""
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
    flips: Literal["tie", "missing"] | None = None
    """What a choice is that changes with the order of the two outputs; null: each order is an answer by itself."""
    max_flips: Share | None = None
    """Share of such changes above which a group is named."""
    williams_alternative: Literal["two-sided", "greater"] | None = None
    """Greater: Williams's tests ask whether the first measure is closer to people than each other."""
    williams_correction: Literal["bh", "holm", "by"] | None = None
    williams_criteria: Literal["apart", "together"] | None = None
    """Null: as family says."""
    control: tuple[str, ...] = ()
    """What strengths are fitted with as well: length, markdown, column:NAME."""
    compare_people_by: tuple[str, ...] = ()
    """Columns of annotators whose values divide people into subgroups that are compared."""
    compare_people_least: Count | None = None
    """People, below whom neither figures nor number of a subgroup are shown."""
    camps: bool = False
    """Whether was asked if people fall into two camps."""
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
    comparison_ends: tuple[float, float] | None = None
    """Numbers of a comparison that say that system_x, or system_y, is better (--numbers); null: answers are no such
    numbers."""
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
    members: tuple[str, ...] = ()
    """Of a jury: the LLMs whose answers its answers are made of."""


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
    ended_early, outputs_seen, reading_speed, relative_speed, same_answers, hidden_reference, mid_anchor,
    constant_votes, or a rule of the table of exclusions, such as review."""
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
class CarelessSignRow(Record):
    """One person who shows a sign of careless answering."""

    sign: SignKind
    """Reading_speed: faster than bound times the usual silent speed of the texts' script (or words a minute, where the
    plan bounds those alone); same_answers: one and the same answer throughout; both_directions: one answer to both
    directions of pairs, above the bound together; attention_checks: failed."""
    annotator_id: str
    group: str
    evidence: str
    excluded_by: str | None
    """Rule of the plan that leaves this person out, for this or something else; null: their answers count."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CarelessSignCount(Record):
    """How many people of a group show a sign of careless answering."""

    sign: SignKind
    bound: float
    declared: bool
    """Whether the plan declares the bound; else it is the one by which everybody is looked at."""
    group: str
    annotators: Count
    not_checkable: Count
    """Who gave too little to judge by."""
    shown: Count
    excluded: Count
    """Of those who show it: left out, by whatever rule of the plan."""


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


GROUPS = rows("groups", Group, needed=True)
MISSING = rows("missing", MissingCount, "Answers that could not be used, counted before exclusions.", needed=True)
