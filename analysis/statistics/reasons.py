"""Why a number is missing or guarded: a code with its data, on which programs decide, and words, which people read.

A module decides by ``reason.code`` and compares whole reasons, never words: those are made in this module alone, so
that any sentence can be worded anew without a number, an order or a section changing.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args

from analysis.statistics.reason_codes import ReasonCode

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

WORDS: dict[ReasonCode, str] = {
    "several": "{reasons}",
    "unspecified": "{text}",  # words of a file that has no codes
    "all_tied": "all systems are tied in one of them",
    "all_ties": "every comparison is a tie: the tie parameter has no finite value",
    "all_zero": "every difference is 0",
    "annotators_constant": "each annotator gave one answer only",
    "annotators_constant_none_left": "each annotator gave one answer only: no variation is left",
    "answered_once": "answered once: nothing to compare with",
    "answers_alike": "no variation: every answer is the same",
    "answers_even": "every pair is even",
    "answers_too_large": "answers beyond 1e100 in size cannot be squared",
    "averaged": "an average over people, not a test",
    "between": (
        "lost every comparison with {above:+{more_above}} and won every one with {below:+{more_below}}: at no finite "
        "distance from either"
    ),
    "between_many": "each lost to all above it and beat all below it every time: at no finite distance from either",
    "camps_of_many": "more than {most} pairs: after the correction none could be clear; name those that matter",
    "cells_missing": "cells are missing: the F test needs every annotator's answer to every unit",
    "circles_of_many": "more than {most} systems: circles are not looked for",
    "clusters_alike": "no variation: every {unit} says the same, so there is no interval",
    "comparisons_in_parts": "some comparisons are neither won, lost nor tied (repeated answers were averaged)",
    "confounded_with_covariates": "cannot be distinguished from the covariates before it",
    "confounded_with_systems": "cannot be distinguished from the systems",
    "context_by_item": "an item mostly has the same third system on all forms: nothing tells their effects apart",
    "covariate_alike": "no two outputs that were compared differ in it",
    "crossed_itself": "the test is itself over annotators and items at once",
    "crossed_one_annotator": "one annotator only: no spread between annotators to test against",
    "crossed_one_item": "one item only: no spread between items to test against",
    "disconnected": "the comparisons fall apart into systems never compared with one another: {parts}",
    "few_annotators_sharing": (
        "{n} annotators share at least {items} items with others and the LLM; {needed} are needed"
    ),
    "few_clusters_to_control": "{n} {unit}s are too few for an interval: {needed} are needed",
    "few_criteria_or_items": "needs two criteria and two items",
    "few_degrees_of_freedom": "an interval would rest on fewer than 4 degrees of freedom: too few {unit}s",
    "few_for_folds": "{n} independent answers for {folds} folds",
    "few_in_common": "only {n} in common, at least {needed} are needed",
    "few_items_of_context": "{n} items with it, or without it, are too few to tell its effect from theirs, at least "
    "{needed} are needed",
    "few_more_units": "the LLM answered fewer than two more units",
    "few_paired": "less than nine tenths of the ratings stand beside one of the other system by the same annotator",
    "few_paired_effects": (
        "no d_z and no interval of superiority: less than nine tenths of the ratings were given beside one of the "
        "other system by the same annotator"
    ),
    "few_people_twice": "{n} people answered twice or more about separate outputs, {needed} are needed",
    "few_ranked": "fewer than two systems are ranked by both",
    "few_annotators_for_cluster": "{n} annotators are too few for a test over them, at least {needed} are needed",
    "few_shared_items": "{n} items shared with others and the LLM; {needed} are needed",
    "few_systems": "{n} systems are too few to compare correlations, at least {needed} are needed",
    "few_to_tune": "too few answers to tune lambda on",
    "few_units_for_model": "{n} units are too few for the {parameters} numbers of the model",
    "few_units_for_circles": "{n} units a pair are too few to test the fitted order, at least {needed} are needed",
    "few_units_of_all": "{n} units were answered by all {raters} raters: at least 2 are needed",
    "infinite_odds": "every annotator gave 0 or 1 to one of the pairs, whose odds are infinite",
    "infinite_values": "{n:=infinite value}",
    "items_alike": "no variation between items",
    "left_alone": "no comparison is left among {systems}",
    "live_futile": "futile: a decision was unlikely",
    "live_not_deciding": "an estimate alone",
    "live_open": "open",
    "lost_all": "lost every comparison: weaker than all others, at no finite distance",
    "means_alike": "the units' means do not differ: nothing to be reliable about",
    "measures_agree": "the two measures agree perfectly, so there is nothing to compare",
    "mixed_model_unfitted": "the mixed model has no maximum within (0, 1)",
    "needs_single_answers": "it needs single answers, which a table read in parts does not keep",
    "negative_ratio": "negative values have no ratio",
    "negative_variance": (
        "the three correlations give no positive variance (rank correlations need not fit together as Pearson's do)"
    ),
    "never_compared": "never compared here",
    "no_answers": "no answers",
    "no_answers_left": "no answers are left",
    "no_column_of_people": "no table has a column {column}",
    "no_covariate": "of no two outputs that were compared is it known: {remedy}",
    "no_d_z": "no d_z: the plan asks for Welch's t",
    "no_direction": "higher_is_better is not given, so neither system is ahead",
    "no_error_left": "units and annotators explain every answer: no error is left to estimate",
    "no_hedges_g": "no Hedges' g: too many units to leave out one by one",
    "no_interval_coefficient_1": "no interval: a coefficient of 1 or -1 shows no spread",
    "no_interval_few_in_common": "no interval: fewer than {needed} in common",
    "no_interval_few_units": "no interval: one of the rankings rests on {n} {unit}s, and it needs {needed}",
    "no_interval_left_out_alike": "no interval: the value is the same whichever unit is left out",
    "no_interval_no_rest": "no interval: no variation is left within units, or hardly any between them",
    "no_interval_one_annotator": "no interval: one annotator only",
    "no_interval_one_item": "no interval: one item only",
    "no_interval_one_item_marked": "no interval: one item",
    "no_interval_one_unit_varies": "no interval: without one of the units every answer is the same",
    "no_interval_orders_lost": "no interval: {lost} of {replicates} resampled sets of answers give no complete order",
    "no_interval_pairs_overlap": "no interval: pairs share annotators and units",
    "no_interval_perfect": "no interval: every unit agrees perfectly, so nothing shows how far the value is from 1",
    "no_interval_ranking_of_one": "no interval: one of the rankings rests on fewer than two annotators or items",
    "no_interval_replicates_alike": "no interval: every replicate has the same mean",
    "no_interval_replicates_empty": "no interval: {lost:,} of {replicates:,} replicates drew none of its answers",
    "no_interval_resamples_alike": "no interval: every resample of units gives the same value",
    "no_interval_resamples_undefined": "no interval: {lost:,} of {replicates:,} resamples of units have no value",
    "no_interval_swept": "no interval: a ranking places systems without a strength, which resampling does not move",
    "no_interval_too_many": "no interval: too many answers to resample",
    "no_interval_too_many_profiles": "no interval: more than {most:,} outputs with different sums",
    "no_interval_two_systems": "no interval: only two systems are ranked by both",
    "no_interval_whole_scale": "no interval: over so few units it would reach from 0 to 1",
    "no_label": "no answer of this LLM says its label (column label)",
    "no_labels": "no answer of this LLM says its labels (columns label_x and label_y)",
    "no_length": "no metric gives the outputs' length (expected one of: {metrics})",
    "no_lengths": "column characters does not give the length of every text",
    "no_mean_tau": "no mean tau: {reason}",
    "no_order": "no answer of this LLM says which direction came first (column asked_first)",
    "no_output_placed_twice": "no output has two answers whose errors are all placed",
    "no_outputs_read": "the answers do not say which outputs were read before them",
    "no_pair_varies": "no two annotators both vary over two shared units",
    "no_people_shared": "no people rated or chose the items that the LLM did",
    "no_places": "the table has no places on the page",
    "no_position": "no answer of this LLM says its position (column position)",
    "no_shared_order": "no two forms share two outputs, so nothing shows whether their order was random",
    "no_share_alike": "no share of outputs that all rated alike: {reason}",
    "no_shared_unit": "no unit was answered by two annotators",
    "no_single_outputs": "single outputs were neither rated nor compared",
    "no_spread_to_standardise": "each annotator who compared them gave one score only: no spread to standardise by",
    "no_strength": "no system has a strength",
    "no_system": "no system is given",
    "no_tau_many_raters": "no mean tau: more than {most} raters",
    "no_ties": "there is no tie: the tie parameter is 0 and the strengths are those of Bradley-Terry",
    "no_triple": "no three systems were all compared with each other by one annotator (as in a chain of pairs)",
    "no_variation": "no variation: every value is the same",
    "no_variation_within_units": "no variation is left within units",
    "no_winner": "neither is preferred on average",
    "nobody_chose": "nobody chose between outputs of these systems on this criterion",
    "nobody_else": "nobody else rated these outputs",
    "nobody_every_system": "no annotator rated every system",
    "none_left": "no other system is left to compare it with",
    "nothing_goes_round": "no circle of pairs was compared (as in a chain, or against one baseline)",
    "not_compared": "this pair was not compared here",
    "not_converged": "the ordinal model did not converge",
    "not_every_system": "did not rate every system",
    "not_finite": "a value is missing or infinite",
    "not_higher": "the first correlation is not higher than the second",
    "not_measured": "not measured",
    "not_two_annotators": "expected two annotators, got {n}",
    "nothing_marked": "no error has a place in these outputs, so chance would agree as well",
    "nothing_paired": "nobody rated both systems on one item",
    "nowhere_defined": "nowhere defined: no {row} holds two {entries} that both sides tell apart",
    "one_annotator": "one annotator only: nobody to agree with",
    "one_annotator_on_one_item": "a system was rated by one annotator on one item only: no spread to test against",
    "one_cluster": "one {unit} only: no spread to make an interval from",
    "one_direction": "nobody answered both directions",
    "one_exposure": "no pair was answered at two exposures",
    "one_of_two_constant": "one of the two gave the same answer to every unit",
    "one_rater": "one rater: nothing to compare with",
    "one_shared_unit": "one unit only was answered by two annotators",
    "one_side": "all units are on one side of the contrast",
    "one_side_constant": "all values are the same on one side, so there is no order to compare",
    "one_sided": "one set of systems won everything against another, so their distance is not finite: {parts}",
    "one_subgroup": "nobody, or everybody who says something there says the same",
    "one_unit": "one value only (n = 1): no spread to test against",
    "one_unit_on_one_side": "one value only on one side: no spread to test against",
    "one_order": "all read the outputs in one order, which cannot be told from the outputs themselves",
    "outside_family": "this pair is not among those compared",
    "over_triples": "sizes over all triples; each triple is tested by itself",
    "people_themselves": "people themselves",
    "rated_between": (
        "was rated lower than {above:+{more_above}} and higher than {below:+{more_below}} whenever both were "
        "rated: at no finite distance from either"
    ),
    "rated_between_many": "each was always rated below those above it and above those below: at no finite distance",
    "rated_higher": "was rated higher than each of the others whenever both were rated: at no finite distance",
    "rated_lower": "was rated lower than each of the others whenever both were rated: at no finite distance",
    "raters_constant": "no variation: every rater gave one answer to all units",
    "ratings_alike": "every rating is the same",
    "regularised": "not fitted with regularisation",
    "replicates_lost": "{lost} of {replicates} replicates have no finite strengths: the interval is unbounded",
    "same_ratings": "both systems got the same ratings equally often: their means are equal on every spacing",
    "separated": "no finite odds: the ratings of the two overlap in one category at most (separation)",
    "several_samples_summed": "of several samples it needs single answers, and the table was read in parts",
    "shared_items": "no test: the systems share their items, so their correlations are not independent",
    "small_constant_subgroup": "all {n} people of a subgroup say the same, so nothing shows how others of it would "
    "differ; it needs {needed}",
    "small_skewed_subgroup": "values are skewed, and the smallest subgroup has {n} people, not half of the largest; it "
    "needs {needed}",
    "small_subgroups": "fewer than two subgroups of at least {least} people that may be shown: put many values, as "
    "ages, into bands",
    "spread_of_one_unit": "without one of the units nothing is left to estimate a spread from: no interval",
    "subgroup_withheld": "withheld: fewer than {least} people, or one with fewer could be computed from it",
    "ties_allow_too_many_orders": "every ordering has ties that allow more than {most} orders",
    "ties_separated": "wins and ties can be told apart exactly by strengths: the tie parameter has no finite value",
    "told_with_certainty": "no finite estimate: systems and covariates tell some answers with certainty (separation)",
    "too_few_for_mixed_model": "too few answers for a mixed model",
    "too_fine": "more than {most} steps: the share of spacings is not counted",
    "too_many_annotators_incomplete": "more than {most} annotators and missing cells: only icc1 is fitted",
    "too_many_categories": "{n:,} different values: too many to be categories",
    "one_gave_most": "one annotator gave most of the answers, and this test weighs answers alike",
    "too_many_differences": "more than {most:,} differences are not standardised one by one",
    "too_many_ratios": "more than {most:,} different values at the ratio level",
    "too_many_scores": "too many different scores to count each by itself",
    "too_many_steps": "more than {most} different ratings: an ordinal model is for scales of few steps",
    "too_many_to_control": "{n:,} {what} are too many: at most {most:,} are fitted",
    "too_uneven": "wins so uneven that no strength can be computed in double precision; ask for regularisation",
    "units_alike": "the units do not differ in how they tell the two apart: no spread to test against",
    "unknown_category": "answer {answer:g} is none of the categories",
    "won_all": "won every comparison: stronger than all others, at no finite distance",
}
CODES: frozenset[str] = frozenset(get_args(ReasonCode))
ADDED = ("_code", "_data")  # after the name of a reason: the keys beside its words in JSON

Datum: TypeAlias = "str | int | float | Reason | tuple[str, ...] | tuple[Reason, ...] | tuple[tuple[str, ...], ...]"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason as a code and the numbers and names in it; ``str(reason)`` are its words.

    >>> str(why("one_unit"))
    'one value only (n = 1): no spread to test against'
    """

    code: ReasonCode
    data: tuple[tuple[str, Datum], ...] = ()

    def __str__(self) -> str:
        return _FORMATTER.vformat(WORDS[self.code], (), dict(self.data))

    def get(self, name: str) -> Datum | None:
        """Return what the reason holds under a name."""
        return dict(self.data).get(name)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core.core_schema import no_info_plain_validator_function

        return no_info_plain_validator_function(reason_from)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "minLength": 1}


def why(code: ReasonCode, /, **data: Datum) -> Reason:
    """Make a reason of a code and its data by name."""
    return Reason(code, tuple(data.items()))


def several(reasons: Iterable[Reason | None]) -> Reason | None:
    """Join reasons to one: each once, in their order; ``None`` where there is none.

    >>> several([None, why("one_unit"), why("one_unit")]) == why("one_unit")
    True
    >>> print(several([why("one_unit"), why("no_variation")]))
    one value only (n = 1): no spread to test against; no variation: every value is the same
    """
    parts = tuple(dict.fromkeys(part for reason in reasons if reason is not None for part in parts_of(reason)))
    return why("several", reasons=parts) if len(parts) > 1 else next(iter(parts), None)


def commonest(reasons: Iterable[Reason | None]) -> Reason | None:
    """Return the reason that stands for all, the commonest by its words; ``None`` where there is none.

    >>> print(commonest([why("no_variation"), None, why("one_unit"), why("one_unit")]))
    one value only (n = 1): no spread to test against
    """
    found = [reason for reason in reasons if reason is not None]
    times = Counter(map(str, found))
    return min(found, key=lambda reason: (-times[str(reason)], str(reason)), default=None)


def parts_of(reason: Reason) -> tuple[Reason, ...]:
    """Return the reasons that one is made of, itself if it is one only."""
    return cast("tuple[Reason, ...]", reason.get("reasons")) if reason.code == "several" else (reason,)


def reason_from(value: Any) -> Reason:
    """Make a reason of what a file holds: :func:`plain_reason`'s code and data, or words without a code.

    Raises
    ------
    ValueError
        When it is neither.
    """
    if isinstance(value, Reason):
        return value
    if isinstance(value, str) and value:
        return why("unspecified", text=value)
    if not isinstance(value, Mapping) or value.get("code") not in CODES:
        raise ValueError("expected a reason: a text, or a code with its data")
    found = Reason(value["code"], tuple((name, _datum(part)) for name, part in (value.get("data") or {}).items()))
    try:
        str(found)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"the data of the reason {found.code} do not fit it: {error}") from error
    return found


def plain_reason(reason: Reason) -> dict[str, Any]:
    """Return a reason as its code and, where there are any, its data: what JSON can hold."""
    return {"code": reason.code} | ({"data": plain_data(reason)} if reason.data else {})


def plain_data(reason: Reason) -> dict[str, Any]:
    """Return the data of a reason by name as JSON can hold them."""
    return {name: _plain(value) for name, value in reason.data}


def beside(name: str, reason: Reason | None) -> dict[str, Any]:
    """Return a reason as keys of JSON: its words under its name, its code and any data beside them."""
    if reason is None:
        return {name: None, f"{name}_code": None}
    found = {name: str(reason), f"{name}_code": reason.code}
    return found | {f"{name}_data": plain_data(reason)} if reason.data else found


def folded(value: Any) -> Any:
    """Turn what JSON holds back: where a code stands beside words, code and data stand in their place.

    A code that is not known, perhaps of a later version, leaves the words.
    """
    if isinstance(value, dict):
        coded = [name for name in value if name.endswith("reason") and f"{name}_code" in value]
        left_out = {f"{name}{end}" for name in coded for end in ADDED}
        found = {name: folded(part) for name, part in value.items() if name not in left_out}
        for name in coded:
            if (code := value[f"{name}_code"]) in CODES:
                found[name] = {"code": code, "data": value.get(f"{name}_data")}
        return found
    return [folded(part) for part in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Reason):
        return plain_reason(value)
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def _datum(value: Any) -> Datum:
    if isinstance(value, list):
        return cast("tuple[str, ...]", tuple(map(_datum, value)))
    if isinstance(value, Mapping):
        return reason_from(value)
    if isinstance(value, str | int | float):
        return value
    raise ValueError(f"expected a text, a number, a reason or a list of them, got {type(value).__name__}")


class _Formatter(string.Formatter):
    """Templates as of ``str.format``: names in a row are parted by commas, reasons by semicolons, sets of names by |.

    ``{n:=value}`` counts: "1 value", "2 values".
    """

    def format_field(self, value: Any, format_spec: str) -> Any:
        if isinstance(value, tuple) and not format_spec:
            mark = "; " if isinstance(value[0], Reason) else " | " if isinstance(value[0], tuple) else ", "
            return mark.join(self.format_field(part, "") for part in value)
        if format_spec.startswith("+"):  # and so many more
            more = int(format_spec)
            return self.format_field(value, "") + (f" and {more:,} more" if more else "")
        if format_spec.startswith("="):
            return f"{value:,} {format_spec[1:]}{'' if value == 1 else 's'}"
        return format(value, format_spec)


_FORMATTER = _Formatter()
