"""One function a quantity, on tidy frames in memory: checked as files are, computed as the report does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analysis.agreement.rater_agreement import AgreementRow, agreement_of_judgements, agreement_of_ratings, code_raters
from analysis.answers.columns import Scale
from analysis.answers.conversion import Frame, polars_of
from analysis.answers.exclusions import Exclusion
from analysis.answers.input import AnalysisInput, prepare_input, steps_of
from analysis.answers.options import Reading
from analysis.answers.plan import Plan
from analysis.answers.tables import check_frames
from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.directions import DirectionSummary
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.ratings import RatingMean, RatingTest
from analysis.correlations.group_correlations import CorrelationRow, correlate_groups
from analysis.preference_checks.checks import PreferenceChecks, preference_checks
from analysis.ranking.sources import RankingSources, rank_systems
from analysis.rating_checks.other_tests import OtherTests
from analysis.records.row_tables import RowList
from analysis.results.comparison_tests import analyse_choices, analyse_preferences, analyse_ratings
from analysis.statistics.rank_orders import Ranking
from analysis.strengths.strength_table import SystemStrength
from spa.errors import AnalysisError

Bounds = tuple[float, float]
ANSWER_OF = {"preference": "preferences", "score": "ratings", "winner": "choices"}


def preference_tests(
    frame: Frame,
    *,
    mapping: Mapping[str, str] | None = None,
    llms: Sequence[str] = (),
    annotators: Frame | None = None,
    plan: Plan | None = None,
) -> list[PreferenceTest]:
    """Test for every group, criterion, exposure and pair whether the mean preference is 0.5.

    Parameters
    ----------
    frame : polars or pandas frame
        Preferences: ``annotator_id``, ``system_x``, ``system_y``, ``preference`` in [0, 1], and what
        else docs/report.md names.
    mapping : mapping of str to str, optional
        Columns of other names: yours -> that of the tidy table.
    llms : sequence of str
        Annotators that are LLMs, where no column ``annotator_kind`` says so.
    annotators : frame, optional
        The annotators table, for exclusions by screening, attention checks and repeat submissions.
    plan : Plan, optional
        Error rate, exclusions, families, unit; :class:`analysis.Plan` by default.

    Returns
    -------
    list of PreferenceTest
        Corrected family by family, as in ``results.json``, after the plan's exclusions.

    Raises
    ------
    AnalysisError
        With every mistake of the frame, one line each.

    Examples
    --------
    >>> answers = {"annotator_id": ["a", "b", "c"], "system_x": ["new"] * 3, "system_y": ["old"] * 3}
    >>> [test] = preference_tests(answers | {"preference": [0.7, 0.6, 0.8]})
    >>> test.n, round(test.mean, 3), round(test.p_value, 4), test.verdict
    (3, 0.7, 0.0742, 'indifferent')
    """
    checked = _about_systems(prepare({"preferences": frame}, mapping, llms, annotators, plan))
    return RowList(analyse_preferences(checked, RankingSources(plan=checked.plan))[0])


def preference_directions(
    frame: Frame,
    *,
    mapping: Mapping[str, str] | None = None,
    llms: Sequence[str] = (),
    annotators: Frame | None = None,
    plan: Plan | None = None,
) -> list[DirectionSummary]:
    """Describe each direction of a pair as it was asked; see :func:`preference_tests` for the arguments."""
    checked = _about_systems(prepare({"preferences": frame}, mapping, llms, annotators, plan))
    return RowList(analyse_preferences(checked, RankingSources(plan=checked.plan))[1])


def check_preferences(
    frame: Frame,
    *,
    mapping: Mapping[str, str] | None = None,
    llms: Sequence[str] = (),
    annotators: Frame | None = None,
    plan: Plan | None = None,
) -> PreferenceChecks:
    """Check certainty by exposure, other bounds on contradictions and triples; arguments of :func:`preference_tests`.

    >>> rows = [("a", "x", "y", 0.7), ("a", "y", "z", 0.6), ("a", "x", "z", 0.4), ("b", "x", "y", 0.6)]
    >>> names = ("annotator_id", "system_x", "system_y", "preference")
    >>> together, triple = check_preferences(dict(zip(names, zip(*rows), strict=True))).coherence
    >>> together.n, together.share_weak
    (1, 1.0)
    """
    checked = _about_systems(prepare({"preferences": frame}, mapping, llms, annotators, plan))
    return preference_checks(checked.answers, checked.orders, checked.exclusions, checked.plan)


def rating_means(
    frame: Frame,
    *,
    mapping: Mapping[str, str] | None = None,
    llms: Sequence[str] = (),
    scale: Bounds | Mapping[str, Bounds] | None = None,
    annotators: Frame | None = None,
    plan: Plan | None = None,
) -> list[RatingMean]:
    """Average the ratings of each system, with an interval clustered by the unit.

    Parameters
    ----------
    frame : polars or pandas frame
        Ratings: ``annotator_id``, ``item_id``, ``system``, ``score``, and what else docs/report.md names.
    scale : (low, high), or mapping of criterion to (low, high), optional
        Bounds that a score must keep.
    mapping, llms, annotators, plan
        As for :func:`preference_tests`.

    Examples
    --------
    >>> answers = {"annotator_id": ["a", "b"], "item_id": [1, 1], "system": ["new", "new"], "score": [4, 5]}
    >>> [row.mean for row in rating_means(answers, scale=(1, 5))]
    [4.5]
    """
    checked = prepare({"ratings": frame}, mapping, llms, annotators, plan, scale)
    return RowList(analyse_ratings(checked, RankingSources(plan=checked.plan))[0])


def rating_tests(
    frame: Frame,
    *,
    mapping: Mapping[str, str] | None = None,
    llms: Sequence[str] = (),
    scale: Bounds | Mapping[str, Bounds] | None = None,
    annotators: Frame | None = None,
    plan: Plan | None = None,
) -> list[RatingTest]:
    """Test for every group, criterion and pair whether the mean ratings differ (paired t; Welch where nothing pairs).

    Arguments are those of :func:`rating_means`.

    >>> answers = {"annotator_id": ["a"] * 6, "item_id": [1, 1, 2, 2, 3, 3], "system": ["new", "old"] * 3}
    >>> [test] = rating_tests(answers | {"score": [5, 3, 4, 3, 5, 1]}, scale=(1, 5))
    >>> test.unit, test.n, round(test.mean_difference, 3), round(test.t, 3)
    ('item', 3, 2.333, 2.646)
    """
    checked = prepare({"ratings": frame}, mapping, llms, annotators, plan, scale)
    otherwise = OtherTests(plan=checked.plan)
    _, tests = analyse_ratings(checked, RankingSources(plan=checked.plan), otherwise)
    return RowList(otherwise.rating_rows(tests)[0])


def choice_tests(
    frame: Frame,
    *,
    mapping: Mapping[str, str] | None = None,
    llms: Sequence[str] = (),
    annotators: Frame | None = None,
    plan: Plan | None = None,
) -> list[ChoiceTest]:
    """Test for every group, criterion and pair whether x is chosen as often as y.

    Parameters
    ----------
    frame : polars or pandas frame
        Choices: ``annotator_id``, ``item_id``, ``system_x``, ``system_y``, ``winner`` (x, y, tie), and
        what else docs/report.md names; or ``preference`` in [0, 1] in the place of ``winner``.
    mapping, llms, annotators, plan
        As for :func:`preference_tests`.

    Examples
    --------
    >>> answers = {"annotator_id": ["a"] * 3, "item_id": [1, 2, 3], "system_x": ["new"] * 3, "system_y": ["old"] * 3}
    >>> [test] = choice_tests(answers | {"winner": ["x", "x", "tie"]})
    >>> test.wins_x, test.ties, round(test.win_rate, 3)
    (2, 1, 0.833)
    """
    kind = "preferences" if kind_of(frame, mapping) == "preferences" else "choices"
    checked = prepare({kind: frame}, mapping, llms, annotators, plan)
    if "choices" not in checked.answers:
        raise AnalysisError("preferences table: expected a column item_id, as choices are about items")
    return RowList(analyse_choices(checked, RankingSources(plan=checked.plan))[0])


def agreement_measures(
    frame: Frame,
    *,
    mapping: Mapping[str, str] | None = None,
    llms: Sequence[str] = (),
    scale: Bounds | Mapping[str, Bounds] | None = None,
    annotators: Frame | None = None,
    plan: Plan | None = None,
) -> list[AgreementRow]:
    """Measure by every coefficient that fits how far the annotators of each group and criterion agree.

    For one coefficient of ratings see :func:`krippendorff_alpha`, :func:`icc` and the others of
    :mod:`analysis.agreement`, which take frames too. Arguments are those of :func:`system_strengths`.
    """
    checked = prepare({kind_of(frame, mapping): frame}, mapping, llms, annotators, plan, scale)
    if "ratings" in checked.kept:
        coded = code_raters(checked.kept["ratings"], checked.orders["ratings"])
        rows = agreement_of_ratings(coded, checked.plan, steps_of(checked))[0]
    else:
        rows = agreement_of_judgements(checked.kept, checked.orders, checked.plan)[0]
    return RowList(rows)


def system_strengths(
    frame: Frame,
    *,
    mapping: Mapping[str, str] | None = None,
    llms: Sequence[str] = (),
    scale: Bounds | Mapping[str, Bounds] | None = None,
    annotators: Frame | None = None,
    plan: Plan | None = None,
) -> list[SystemStrength]:
    """Estimate Bradley-Terry strengths for every group and criterion, with intervals and rank intervals.

    Parameters
    ----------
    frame : polars or pandas frame
        Preferences, choices, or ratings (compared two by two), by their column ``preference``, ``winner`` or ``score``.
    scale, mapping, llms, annotators, plan
        As for :func:`rating_means`.
    """
    checked = prepare({kind_of(frame, mapping): frame}, mapping, llms, annotators, plan, scale)
    return RowList(_ranked(checked)[0])


def rankings(
    frame: Frame,
    *,
    mapping: Mapping[str, str] | None = None,
    llms: Sequence[str] = (),
    scale: Bounds | Mapping[str, Bounds] | None = None,
    annotators: Frame | None = None,
    plan: Plan | None = None,
) -> list[Ranking]:
    """Order the systems of every group and criterion, best first; arguments as for :func:`system_strengths`.

    Ratings give two rankings: by means (``ratings``) and by comparisons two by two (``ratings_bt``).

    >>> answers = {"annotator_id": ["a"] * 4, "item_id": [1, 1, 2, 2], "system": ["new", "old"] * 2}
    >>> rankings(answers | {"score": [5, 3, 2, 3]})[0].order
    (('new',), ('old',))
    """
    return RowList(_ranked(prepare({kind_of(frame, mapping): frame}, mapping, llms, annotators, plan, scale))[1])


def rating_correlations(
    ratings: Frame,
    metrics: Frame | None = None,
    *,
    mapping: Mapping[str, str] | None = None,
    llms: Sequence[str] = (),
    scale: Bounds | Mapping[str, Bounds] | None = None,
    annotators: Frame | None = None,
    plan: Plan | None = None,
) -> list[CorrelationRow]:
    """Correlate LLMs, other groups and automatic metrics with people, on four levels.

    Parameters
    ----------
    ratings : polars or pandas frame
        As for :func:`rating_means`.
    metrics : polars or pandas frame, optional
        ``item_id``, ``system``, ``metric``, ``score``.
    scale, mapping, llms, annotators, plan
        As for :func:`rating_means`.
    """
    frames = {"ratings": ratings} if metrics is None else {"ratings": ratings, "metrics": metrics}
    checked = prepare(frames, mapping, llms, annotators, plan, scale)
    found = correlate_groups(
        checked.kept["ratings"], checked.tables.metrics, checked.groups, checked.orders["ratings"], checked.plan
    )
    return RowList(found.rows)


def excluded(
    frame: Frame,
    *,
    mapping: Mapping[str, str] | None = None,
    llms: Sequence[str] = (),
    scale: Bounds | Mapping[str, Bounds] | None = None,
    annotators: Frame | None = None,
    plan: Plan | None = None,
) -> list[Exclusion]:
    """Say who leaves the analysis by the plan's rules, and on what evidence; arguments as for :func:`rankings`."""
    checked = prepare({kind_of(frame, mapping): frame}, mapping, llms, annotators, plan, scale)
    return RowList(checked.exclusions)


def prepare(
    frames: Mapping[str, Frame],
    mapping: Mapping[str, str] | None,
    llms: Sequence[str],
    annotators: Frame | None,
    plan: Plan | None,
    scale: Bounds | Mapping[str, Bounds] | None = None,
) -> AnalysisInput:
    """Check frames and apply the plan's exclusions; arguments of :func:`rating_means`."""
    if isinstance(llms, str):
        raise TypeError(f"llms: expected a list of annotators, got the text {llms!r}")
    named = frames if annotators is None else {**frames, "annotators": annotators}
    given = {kind: polars_of(frame, place=f"{kind} table") for kind, frame in named.items()}
    empty = [kind for kind, frame in given.items() if frame.is_empty()]
    if empty:
        raise AnalysisError(*(f"{kind} table: no rows; expected at least one" for kind in empty))
    bounds: Iterable[tuple[str | None, Bounds]] = ()
    if scale is not None:
        bounds = scale.items() if isinstance(scale, Mapping) else [(None, scale)]
    scales = tuple(Scale(criterion=criterion, low=low, high=high) for criterion, (low, high) in bounds)
    reading = Reading(mapping=mapping or {}, llms=tuple(llms), scales=scales)
    return prepare_input(check_frames(given, reading), plan or Plan())


def _about_systems(checked: AnalysisInput) -> AnalysisInput:
    """Refuse preferences about items, which are analysed as choices are."""
    if "preferences" not in checked.answers:
        raise AnalysisError(
            "preferences table: expected no column item_id; preferences about items are analysed as choices are "
            "(analysis.choice_tests)"
        )
    return checked


def kind_of(frame: Frame, mapping: Mapping[str, str] | None) -> str:
    """Name the kind of a frame by its column of answers."""
    columns = [(mapping or {}).get(name, name) for name in polars_of(frame).columns]
    kinds = [kind for answer, kind in ANSWER_OF.items() if answer in columns]
    if len(kinds) != 1:
        raise AnalysisError(f"expected one of the columns {', '.join(ANSWER_OF)}, got {', '.join(columns)}")
    return kinds[0]


def _ranked(checked: AnalysisInput) -> tuple[tuple[SystemStrength, ...], list[Ranking]]:
    sources = RankingSources(plan=checked.plan)
    [kind] = checked.kept
    means: list[RatingMean] = []
    tests: list[RatingTest] = []
    if kind == "preferences":
        analyse_preferences(checked, sources)
    elif kind == "choices":
        analyse_choices(checked, sources)
    else:
        means, tests = analyse_ratings(checked, sources)
    return sources.rows, rank_systems(sources, means, tests)
