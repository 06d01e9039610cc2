"""Everything that a report says: the keys of ``results.json``, in their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from analysis import rooms
from analysis.answers.controls import ControlCheck
from analysis.answers.study_facts import StudyReport
from analysis.contribution import Contribution
from analysis.records.overview import (
    GROUPS,
    MISSING,
    CarelessCount,
    CarelessSignCount,
    CarelessSignRow,
    ExclusionRow,
    Settings,
    WarningRow,
)
from analysis.records.results import Key, nested_class, one, results_class, rows
from analysis.results.conventions import Convention
from analysis.results.headline_rows import Headline
from analysis.verification.outcome import Verification

SCHEMA: Final = 2
OWN: Final[tuple[Key[Any], ...]] = (  # of no room
    Key("schema", Literal[2]),
    Key("settings", Settings),
    Key("study", StudyReport | None),
    GROUPS,
    rows("exclusions", ExclusionRow, needed=True),
    rows("careless", CarelessCount, "Declared rules of careless answering; empty where the plan declares none."),
    rows("careless_signs", CarelessSignRow, "People who show a sign of careless answering; a sign excludes nobody."),
    rows("careless_sign_counts", CarelessSignCount, "How many show each sign; empty where no person answered."),
    rows("controls", ControlCheck, "What annotators answered about systems that are attention checks (--control)."),
    MISSING,
    Key("warnings", tuple[str, ...]),
    rows("warning_rows", WarningRow, "The warnings with their kind and group, in the same order."),
    rows("conventions", Convention, needed=True),
    one(
        "verification",
        Verification,
        "P-values, strengths and kappas that scipy, statsmodels and choix computed again; null where they were not "
        "asked to.",
    ),
    one("headline", Headline, "The four lines that a report opens with; null in files written before there were any."),
)
ORDER: Final = """
    schema settings study groups exclusions careless careless_signs careless_sign_counts reviewers controls missing
    preferences preference_directions
    exposure_curve exposure_trend first_exposure consistency_sweep coherence ratings.means ratings.pairs
    ratings.robustness ratings.respacing ratings.by_system ratings.by_variant ratings.by_annotator unranked_means
    reference_differences post_screening constant_votes serial_context
    serial_arms third_systems rating_counts single_answers
    category_shares interview identical_pairs choices.pairs both_orders orders order_strengths order_places
    best_worst utility_shares utilities utility_differences utility_means utility_lists
    utility_checks families bradley_terry ties rankings ranking_agreement ranking_differences circles
    circle_triples people_columns people_by people_by_tests people_differ own_preferences camps covariate_effects
    controlled_strengths equal_length agreement annotator_pairs correlations
    comparisons_of_correlations correlations_by_system correlations_of_averages metrics
    audit llm_vs_people first_shown raters
    juries jury_agreement jury_without self_preference examples explanations
    exploration contamination contamination_of_others expected observed_power disagreements warnings warning_rows
    conventions spans live verification headline
""".split()  # keys that are not listed follow the last


def keys_of(contributions: Iterable[Contribution]) -> tuple[Key[Any], ...]:
    """Return the keys of ``results.json`` in their order: those of no room, and those of rooms."""
    keys = [*OWN, *(key for one in contributions for key in one.keys)]
    place = {name: number for number, name in enumerate(ORDER)}
    return tuple(sorted(keys, key=lambda key: place.get(key.name, len(place))))


KEYS: Final = keys_of(rooms.CONTRIBUTIONS)

if TYPE_CHECKING:
    from analysis.records.results import Results as Results
else:  # by these names they are pickled
    Results = results_class(KEYS)
    RatingResults, ChoiceResults = (nested_class(name, KEYS) for name in ("ratings", "choices"))
    for _made in (Results, RatingResults, ChoiceResults):
        _made.__module__ = __name__


def make_results(values: Mapping[str, Any]) -> Results:
    """Make results of all rooms from values by key; keys that are left out are empty."""
    keys = keys_of(rooms.CONTRIBUTIONS)
    found: dict[str, Any] = {}
    for name, value in values.items():
        whole, _, inner = name.partition(".")
        if inner:
            found.setdefault(whole, {})[inner] = value
        else:
            found[name] = value
    nested = {name for name, _, inner in (key.name.partition(".") for key in keys) if inner}
    return results_class(keys)(
        **{name: nested_class(name, keys)(**found[name]) if name in nested else found[name] for name in found}
    )
