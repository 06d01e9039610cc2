"""Tests of pairs of systems as a table and a figure, for all three ways of asking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from analysis.comparisons.ratings import CLUSTERED, RatingTest
from analysis.comparisons.share_figures import WHAT, share_figure, win_matrices
from analysis.contribution import Shown
from analysis.printing.cells import (
    MOST_IMPORTANT,
    VERDICT,
    Field,
    cell,
    crossed,
    importance,
    number_column,
    tabulate,
    text_column,
    titled,
    verdict,
)
from analysis.printing.document import Block, Cell, Column, Heading, Paragraph, Table
from analysis.printing.levels import NOT_EQUAL, correction_name
from analysis.printing.live_words import level_of, live_marks
from analysis.printing.lookup import (
    SHARES,
    PairTest,
    by_criterion,
    drawn,
    figures_words,
    first_criteria,
    main_source,
    opened,
)
from analysis.printing.pictures import how_many
from analysis.printing.words import (
    MINUS,
    SPACE,
    compared_with,
    count,
    interval,
    p_value,
    percent,
    sentence,
    share_interval,
    signed,
    t_value,
)
from analysis.statistics.record import Source

THESE_PEOPLE: Final = "these people only"  # whom a test holds for where nobody is named
UNIT_NOTES = {
    frozenset({"annotator"}): "The unit is the annotator: results hold for annotators like these.",
    frozenset({"item"}): "The unit is the item: results hold for these annotators only.",
    frozenset({"assignment"}): "The unit is the form: results hold for further forms that the LLM answers.",
    frozenset({"annotator", "assignment"}): "The unit is the annotator (for LLMs, the form): results hold for others "
    "like these.",
}
BY_UNNAMED = "The unit is the item: results hold for the people who answered, whom nobody named."
OTHER_VERDICT = "\u2260: over annotators and items at once (crossed p) the verdict is another."
HIGHLY_SKEWED = "Highly skewed: most values are equal or a few lie far from the rest, so p may be too small."
More: TypeAlias = Callable[[Sequence[Any]], Sequence[Block]]


def shares_by_criterion(
    shown: Shown, rows: Sequence[PairTest], source: Source, more: More = lambda rows: ()
) -> tuple[list[Block], list[Block]]:
    """Return table and figure of each criterion: those of the report, and those of its appendix."""
    results, names = shown.results, shown.names
    blocks: list[Block] = []
    appendix: list[Block] = []
    criteria = by_criterion(rows)
    several = len(criteria) > 1
    answered = first_criteria(results, source)[0] if main_source(results) == source else None
    if words := figures_words(criteria):
        blocks.append(Paragraph(text=words))
    for criterion, own in criteria.items():
        part = blocks if criterion in opened([*criteria]) else appendix
        part += [Heading(text=sentence(names.criterion(criterion)))] if several else []
        if criterion in drawn(criteria):
            part += win_matrices(shown, own, source, criterion, several)
        part.append(pair_table(shown, own, source, criterion, several))
        if criterion in drawn(criteria):
            compared = {(frozenset((row.system_x, row.system_y)), getattr(row, "exposure", None)) for row in own}
            again = criterion == answered and len(compared) == 1  # the picture of the first page
            (appendix if again else part).append(share_figure(shown, own, source, criterion, several))
        part += more(own)
    return blocks, appendix


def pair_table(shown: Shown, rows: Sequence[PairTest], source: Source, criterion: str, several: bool) -> Table:
    """Return the tests of one source and criterion, a row a pair and group."""
    fields, names = _fields(shown, source), shown.names
    name, caption, csv = {
        "preferences": ("preferences", WHAT["preferences"], "preferences"),
        "choices": ("choices", WHAT["choices"], "choices_pairs"),
        "ratings": ("ratings_pairs", "Differences in mean rating", "ratings_pairs"),
    }[source]
    study = shown.results.study
    same, notes = (("Unit",), []) if shown.live else how_tested(rows)
    fields = [field for field in fields if field[0].title != "Unit" or "Unit" not in same]
    if all(getattr(row, "both_bad", None) is None for row in rows):
        fields = [field for field in fields if field[0] is not BOTH_BAD[0]]
    if study is not None and study.exposures:
        same = (*same, "Outputs read")
    if len(names.groups) == 1:
        same = (*same, "Group")
    if source == "ratings" and criterion in names.lower_is_better:
        notes.append("A negative difference speaks for the first system, as lower is better.")
    if any(getattr(row, "disagree", False) for row in rows):  # not of preferences
        notes.append(OTHER_VERDICT)
    if any(row.highly_skewed for row in rows):
        notes.append(HIGHLY_SKEWED)
    if any(row.verdict == "indifferent" and row.decision is None for row in rows):
        notes.append(NOT_EQUAL)
    if any(row.decision == "not_deciding" for row in rows):
        notes.append("Without a decision: an estimate alone, which is not what the study decided.")
    return tabulate(
        *titled(name, caption, names, criterion, several=several, rated=source == "ratings"),
        fields,
        rows,
        notes,
        constant=same,
        csv=csv,
        weights=importance(rows, names),
        weighed_by=MOST_IMPORTANT,
        units=how_many(rows, names),
    )


def partly_paired(rows: Iterable[RatingTest]) -> list[RatingTest]:
    """Return the tests of all ratings that are so because too few of them lie side by side."""
    return [row for row in rows if row.test == CLUSTERED and row.separated_by is None]


def how_tested(rows: Sequence[PairTest]) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns that need not be shown, and the notes that say the same once."""
    same, notes = [], []
    units, tests = (frozenset(getattr(row, name, "") for row in rows) for name in ("unit", "test"))
    if units in UNIT_NOTES:
        same.append("Unit")
        by_people = any(getattr(row, "unit_note", None) == THESE_PEOPLE for row in rows)
        notes.append(BY_UNNAMED if by_people else UNIT_NOTES[units])
    rated = [row for row in rows if isinstance(row, RatingTest)]
    clustered = [row for row in rated if row.n_items]
    partly = partly_paired(rated)
    if len(tests) == 1 and tests != {""}:
        same.append("Test")
        notes += [] if clustered or partly else [f"Test: {str(*tests)}."]
    if partly:
        notes.append(
            "Clustered t: where one annotator rated both systems on one item for less than nine tenths of the ratings, "
            "the means of all ratings are compared."
        )
    if any(row not in partly for row in clustered):
        notes.append("Clustered t: nobody rated both systems on one item, so the means of all ratings are compared.")
    if clustered:
        notes.append("With annotators as units, clustered t holds for items like these too.")
    notes += [f"{sentence(problem)}." for problem in dict.fromkeys(row.level_problem for row in rated) if problem]
    return tuple(same), notes


def _fields(shown: Shown, source: Source) -> list[Field[Any]]:
    names = shown.names
    rated, preferred = source == "ratings", source == "preferences"
    live, correction = shown.results.live, correction_name(shown.settings)
    confidence = shown.confidence if live is None else level_of(live)
    marks = compared_with(shown.results, source) if live is None else live_marks(live)
    joined, counted = f" {MINUS} " if rated else " over ", names.counted(names.groups)
    unit: Field[Any] = text_column(
        "Unit", lambda row: names.unit(row.unit), "what the test counts, and so what its result holds for"
    )
    estimate: list[Field[Any]] = [
        number_column(
            "Difference", lambda row: signed(row.mean_difference, 3), "mean rating of the first minus the second"
        ),
        number_column(
            f"{confidence} confidence interval", lambda row: interval(row.ci_low, row.ci_high, decimals=3, marks=marks)
        ),
        text_column("Test", lambda row: row.test, "paired where the same unit rated both systems"),
    ]
    if not rated:
        title, what = {
            "preferences": ("Mean", "mean chance that the first is better"),
            "choices": ("Win rate", "share of wins averaged over units"),
        }[source]
        limits = "the range in which the true share may well lie"
        estimate = [
            number_column(title, lambda row: percent(getattr(row, SHARES[source])), what),
            number_column(
                f"{confidence} confidence interval (%)",
                lambda row: share_interval(row.ci_low, row.ci_high, marks=marks),
                limits,
            ),
        ]
    p_adjusted: Field[Any] = number_column(
        "Adjusted p",
        adjusted,
        "chance of so large a difference if there were none, corrected for testing several pairs "
        f"({correction}); below it t, the difference in standard errors, with its degrees of freedom; where all are "
        "alike and no test can be run, the most that this chance can be",
    )
    p_crossed: Field[Any] = number_column(
        "Crossed p",
        crossed,
        "the same over annotators and items at once, both taken as drawn; \u2260 where it comes to another verdict",
    )
    tests = [p_adjusted, *([_BINOMIAL] if source == "choices" else []), *([] if preferred else [p_crossed])]
    found = VERDICT
    if live is not None:
        bounded = live.answers == source and bool(live.pairs)
        tests, found = [], Column(title="Decision", explanation="of the live study")
        estimate = estimate[: 2 if bounded else 1]
    return [
        text_column(
            "Pair",
            lambda row: f"{names.system(row.system_x)}{joined}{names.system(row.system_y)}",
            "the system that is ahead stands first",
        ),
        text_column("Group", lambda row: names.group(row.group)),
        number_column("Outputs read", lambda row: count(row.exposure), "of each system before judging (exposure)")
        if preferred
        else unit,
        number_column("n", lambda row: count(row.n), counted if preferred else "units counted"),
        *(_WINS if source == "choices" else []),
        *estimate,
        *tests,
        (found, lambda row: verdict(row, names, source)),
    ]


BOTH_BAD: Field[Any] = number_column("Both bad", lambda row: count(row.both_bad), "of the ties")
_WINS: list[Field[Any]] = [
    number_column("Wins", lambda row: count(row.wins_x), "choices of the first system"),
    number_column("Losses", lambda row: count(row.wins_y), "choices of the second"),
    number_column("Ties", lambda row: count(row.ties)),
    BOTH_BAD,
]
_BINOMIAL: Field[Any] = number_column(
    "Binomial p",
    lambda row: p_value(row.p_binomial),
    "the same by an exact test that takes every untied choice as independent; uncorrected, for comparison",
)


def adjusted(row: PairTest) -> Cell:
    """Return the adjusted p over its t; of unanimous answers their bound."""
    if row.p_unanimous is None:
        return cell(p_value(row.p_adjusted), detail=_t_of(row))
    bound = p_value(row.p_unanimous)
    return cell(bound if bound.startswith("<") else f"\u2264{SPACE}{bound}", detail=f"all {row.all_alike} alike")


def _t_of(row: PairTest) -> str:
    """Return t with its degrees of freedom, as "t(39) = 2.51"; nothing where no test was run."""
    return f"t({count(row.df)}) = {t_value(row.t)}" if row.t is not None else ""
