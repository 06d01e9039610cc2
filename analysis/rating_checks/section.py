"""Do the differences between ratings (and between choices) hold when they are tested otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TypeAlias

from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.ratings import RatingTest
from analysis.contribution import Shown
from analysis.figures.figures import forest_plot
from analysis.printing.cells import (
    VERDICT,
    Field,
    cell,
    criterion_cell,
    number_column,
    tabulate,
    text_column,
    verdict,
)
from analysis.printing.document import (
    Block,
    Bullets,
    Cell,
    Column,
    Figure,
    Fold,
    Heading,
    Paragraph,
    Section,
    Table,
    build_table,
)
from analysis.printing.names import Names
from analysis.printing.pictures import BESIDE, called, drawn_groups, folded, how_many
from analysis.printing.turning import aligned
from analysis.printing.words import (
    MINUS,
    NONE,
    interval,
    number,
    p_value,
    percent,
    plural,
    sentence,
    share_interval,
    signed,
)
from analysis.rating_checks.other_tests import RespacingRow, RobustnessRow
from analysis.rating_checks.part import Method
from analysis.statistics.reasons import commonest
from analysis.statistics.record import Source

LISTED = 40  # rows of a table; all stand in the CSV tables
METHODS: dict[Method, str] = {
    "wilcoxon": "Wilcoxon",
    "z_scores": "z-scores",
    "ordinal": "ordinal model",
    "crossed": "annotators and items",
}
MEANINGS = {
    "Wilcoxon": "signed ranks of the differences over the same units; asks for no equal steps between differences",
    "z-scores": "each annotator's scores in their own standard deviations, then the same paired test; takes out who "
    "scores high, low, or in a narrow band",
    "ordinal model": "a cumulative logit model, which uses only the order of the scale; clustered by unit",
    "annotators and items": "both taken as drawn, to say whether others of both would show the same difference",
}
CSV = "The CSV tables have all of them."
Key: TypeAlias = tuple[str | None, ...]
PairRow: TypeAlias = RatingTest | ChoiceTest | RespacingRow


def robustness(
    checks: Sequence[RobustnessRow],
    respaced: Sequence[RespacingRow],
    pairs: Sequence[RatingTest],
    choices: Sequence[ChoiceTest],
    shown: Shown,
) -> Section | None:
    """Report how far the verdicts on ratings and choices hold when tested or scaled otherwise."""
    chosen = [row for row in choices if row.p_crossed is not None or row.crossed_reason]
    if not checks and not chosen:
        return None
    names = shown.names
    blocks: list[Block] = []
    if checks:
        blocks += [
            Paragraph(
                text="Each difference between mean ratings was tested in other ways as well. The verdict of the "
                "paired test counts; where another test disagrees, the verdict depends on an assumption that only one "
                "of them makes."
            ),
            _counts(pairs, checks),
            *_differing(pairs, checks, names),
        ]
    rated = [row for row in pairs if not names.unnamed(row.group)]  # nobody is drawn where nobody is named
    chosen = [row for row in chosen if not names.unnamed(row.group)]
    if rated or chosen:
        blocks += [*_crossed(rated, chosen, names)]
    if checks:
        blocks += [
            *_spacing(pairs, respaced, names),
            *_effects(pairs, names, shown.confidence),
        ]
    title = "How robust are the rating differences?" if checks else "How robust are the choices?"
    return Section(id="robustness", title=title, blocks=tuple(blocks))


def _key(row: RatingTest | RobustnessRow | RespacingRow) -> Key:
    return row.group, row.criterion, row.system_x, row.system_y


def _counts(pairs: Sequence[RatingTest], checks: Sequence[RobustnessRow]) -> Table:
    columns = [
        Column(title="Test"),
        Column(title="Compared", explanation="pairs with a verdict of both tests", numeric=True),
        Column(title="Same verdict", numeric=True),
        Column(title="Only the paired test finds a difference", numeric=True),
        Column(title="Only this test finds one", numeric=True),
        Column(title="The opposite", numeric=True),
        Column(title="Not testable", numeric=True),
    ]
    main = {_key(row): row.verdict for row in pairs}
    cells = []
    for method, name in METHODS.items():
        own = [row for row in checks if row.method == method]
        if not own:
            continue
        compared = [row for row in own if row.agrees is not None]
        other = [(main[_key(row)], row.verdict) for row in compared if not row.agrees]
        lost = sum(found == "indifferent" for _, found in other)
        won = sum(found == "indifferent" for found, _ in other)
        numbers = (len(compared), len(compared) - len(other), lost, won, len(other) - lost - won)
        untested = len(pairs) - sum(row.p_value is not None for row in own)
        cells.append([cell(name), *(cell(f"{value:,}") for value in (*numbers, untested))])
    made = {METHODS[row.method] for row in checks}
    notes = [f"{sentence(name)}: {meaning}." for name, meaning in MEANINGS.items() if name in made]
    notes.append(
        "Each of these tests is corrected as the paired tests are. Why a pair could not be tested "
        "stands in the CSV table ratings_robustness."
    )
    return build_table("robustness_counts", "Other tests of the same differences", columns, cells, notes)


def _differing(pairs: Sequence[RatingTest], checks: Sequence[RobustnessRow], names: Names) -> list[Block]:
    """List the pairs on which some test comes to another verdict, the crossed one aside: it has its own list."""
    found: dict[Key, dict[Method, RobustnessRow]] = {}
    for row in checks:
        if row.system_x is not None and row.method != "crossed":
            found.setdefault(_key(row), {})[row.method] = row
    rows = [row for row in pairs if any(one.agrees is False for one in found.get(_key(row), {}).values())]
    if not rows:
        z_scores = ", z-scores" if any(row.method == "z_scores" for row in checks) else ""
        return [Paragraph(text=f"Wilcoxon's test{z_scores} and the ordinal model change no verdict.")]
    fields: list[Field[RatingTest]] = [
        *_pair_fields(rows, names),
        text_column("Paired test", lambda row: verdict(row, names, "ratings")),
        *(_other_field(method, found, names) for method in METHODS if method != "crossed"),
    ]
    caption = "Pairs on which Wilcoxon's test, z-scores or the ordinal model say something else"
    left = f"The first {LISTED} of {len(rows)}. {CSV}" if len(rows) > LISTED else ""
    table = tabulate("robustness_differing", caption, fields, rows[:LISTED], [left] if left else [])
    return [Fold(summary=f"The {plural(len(rows), 'pair')} on which one of them says something else", blocks=(table,))]


def _other_field(
    method: Method, found: Mapping[Key, Mapping[Method, RobustnessRow]], names: Names
) -> Field[RatingTest]:
    def shown(row: RatingTest) -> str | Cell:
        other = found[_key(row)].get(method)
        if other is None or other.p_value is None:
            return NONE
        return verdict(replace(row, verdict=other.verdict, p_adjusted=other.p_adjusted), names, "ratings")

    return text_column(sentence(METHODS[method]), shown)


def _crossed(pairs: Sequence[RatingTest], chosen: Sequence[ChoiceTest], names: Names) -> list[Block]:
    """Say where a verdict does not hold for other annotators and items, or holds only for them."""
    lines = []
    listed: list[RatingTest | ChoiceTest] = []
    for source, rows in (("ratings", pairs), ("choices", chosen)):
        compared = [row for row in rows if row.disagree is not None]
        other = [row for row in compared if row.disagree]
        if not compared:
            if rows:
                reason = commonest(row.crossed_reason for row in rows)
                lines.append(f"{sentence(source)}: not tested ({reason or 'no test of its own to compare with'}).")
            continue
        lost = sum(row.crossed_verdict == "indifferent" for row in other)
        same = len(compared) - len(other)
        stays = "stays" if same == 1 else "stay"
        text = f"{sentence(source)}: of {plural(len(compared), 'verdict')}, {same} {stays} the same"
        if lost:
            text += f"; {plural(lost, 'difference')} no longer {'shows' if lost == 1 else 'show'}"
        if len(other) - lost:
            text += f"; {plural(len(other) - lost, 'verdict')} turn{'s' if len(other) - lost == 1 else ''} another way"
        lines.append(f"{text}.")
        listed += other
    text = (
        "The unit of a test is either the annotator or the item. Here both are taken as drawn, which asks more: with "
        "three annotators, only a difference on which all three agree can show. A difference that no longer shows has "
        "not been refuted: it holds for these annotators (or these items)."
    )
    blocks: list[Block] = [Heading(text="For other annotators and other items"), Paragraph(text=text)]
    blocks.append(Bullets(items=tuple(lines)))
    if listed:
        table = _crossed_table(listed, names)
        blocks.append(Fold(summary=f"The {plural(len(listed), 'verdict')} that change", blocks=(table,)))
    return blocks


def _crossed_table(listed: Sequence[RatingTest | ChoiceTest], names: Names) -> Table:
    fields: list[Field[RatingTest | ChoiceTest]] = [
        text_column("Asked as", lambda row: names.source(_source(row))),
        *_pair_fields(listed, names),
        text_column("Unit", lambda row: names.unit(row.unit)),
        number_column("Adjusted p", lambda row: p_value(row.p_adjusted), "of the test by unit"),
        (VERDICT, lambda row: verdict(row, names, _source(row))),
        number_column(
            "Crossed p",
            lambda row: p_value(row.p_crossed_adjusted),
            "over annotators and items at once, adjusted as the others are",
        ),
        text_column(
            "Crossed verdict",
            lambda row: verdict(
                replace(row, verdict=row.crossed_verdict, p_adjusted=row.p_crossed_adjusted, highly_skewed=False),
                names,
                _source(row),
            ),
        ),
    ]
    left = f"The first {LISTED} of {len(listed)}. {CSV}" if len(listed) > LISTED else ""
    caption = "Verdicts that change when annotators and items are both taken as drawn"
    notes = [left] if left else []
    return tabulate("robustness_crossed", caption, fields, listed[:LISTED], notes, constant=("Asked as",))


def _source(row: PairRow) -> Source:
    return "choices" if isinstance(row, ChoiceTest) else "ratings"


def _pair_fields(rows: Sequence[PairRow], names: Names) -> list[Field[PairRow]]:
    criterion: Field[PairRow] = text_column("Criterion", lambda row: criterion_cell(names, row.criterion, _source(row)))
    return [
        text_column("Pair", lambda row: f"{names.system(row.system_x)} {MINUS} {names.system(row.system_y)}"),
        text_column("Group", lambda row: names.group(row.group)),
        *([criterion] if len({row.criterion for row in rows}) > 1 else []),
    ]


def _spacing(pairs: Sequence[RatingTest], rows: Sequence[RespacingRow], names: Names) -> list[Block]:
    """Say which clear verdicts rest on the steps of the scale being equal."""
    clear = {_key(row): row for row in pairs if row.verdict in ("x", "y")}
    own = [row for row in rows if _key(row) in clear and row.holds is not None]
    if not own:
        return []
    depends = sorted((row for row in own if row.holds == "depends"), key=lambda row: row.ratio or 0.0)
    hidden = [row for row in own if row.rounding]
    text = (
        "A mean takes every step of the scale to be worth the same, which nobody can check (Ethayarajh and Jurafsky "
        f"2022, section 3). Of {plural(len(own), 'clear difference')}, {len(own) - len(depends)} keep their direction "
        "whatever the steps are worth, as long as more is better; "
        f"{len(depends)} {'depends' if len(depends) == 1 else 'depend'} on it."
    )
    blocks: list[Block] = [Heading(text="If the steps of the scale are not equal"), Paragraph(text=text)]
    if depends:
        table = _spacing_table(depends, clear, names)
        blocks.append(Fold(summary=f"Differences that depend on it ({len(depends)})", blocks=(table,)))
    if hidden:
        blocks.append(
            Paragraph(
                text=f"{plural(len(hidden), 'clear difference')} of whole-number ratings "
                f"{'is' if len(hidden) == 1 else 'are'} smaller than one step. Rounding to whole steps can hide up to "
                "one step of what annotators felt, so that averaging may show the reverse of what they prefer "
                "(proposition 2 of the same paper), on every spacing. Only another way of asking can tell.",
            )
        )
    return blocks


def _spacing_table(depends: list[RespacingRow], clear: Mapping[Key, RatingTest], names: Names) -> Table:
    fields: list[Field[RespacingRow]] = [
        *_pair_fields(depends, names),
        number_column(
            "Difference",
            lambda row: signed(clear[_key(row)].mean_difference, 3),
            "mean rating of the first minus that of the second",
        ),
        number_column(
            "Holds up to",
            lambda row: f"{number(row.ratio, 1)} times",
            "the direction is kept while no step is worth more than this many times another",
        ),
        number_column(
            "First higher",
            lambda row: percent(row.share),
            "share of all spacings on which the first system has the higher mean",
        ),
        text_column(
            "Spacing that turns it",
            lambda row: ", ".join(number(value, 2) for value in row.example) or NONE,
            "values of the scale's levels between the same ends",
        ),
    ]
    left = f"The {LISTED} of {len(depends)} that turn first. {CSV}" if len(depends) > LISTED else ""
    caption = "Clear differences whose direction depends on what a step of the scale is worth"
    return tabulate("robustness_spacing", caption, fields, depends[:LISTED], [left] if left else [])


def _effects(pairs: Sequence[RatingTest], names: Names, confidence: str) -> list[Block]:
    known = [row for row in pairs if row.superiority is not None]
    if not known:
        return []
    blocks: list[Block] = [Heading(text="How large the differences are")]
    if len(known) > LISTED:
        text = (
            f"Effect sizes of all {len(known):,} pairs, with {confidence} confidence intervals, are in the CSV table "
        )
        return [*blocks, Paragraph(text=f"{text}ratings_pairs (d_z, hedges_g, superiority).")]
    fields: list[Field[RatingTest]] = [
        *_pair_fields(known, names),
        number_column(
            "d_z",
            lambda row: number(row.d_z),
            "mean difference in standard deviations of the units' differences (larger where a unit averages more "
            "ratings)",
        ),
        number_column(f"{confidence} confidence interval of d_z", lambda row: interval(row.d_z_low, row.d_z_high)),
        number_column(
            "Hedges' g",
            lambda row: number(row.hedges_g),
            "mean difference in standard deviations of single ratings",
        ),
        number_column(
            f"{confidence} confidence interval of g", lambda row: interval(row.hedges_g_low, row.hedges_g_high)
        ),
        number_column(
            "First higher",
            lambda row: percent(row.superiority),
            "chance that a rating of the first is above that of the second beside it; equal ones count half, 50% is "
            "no difference",
        ),
        number_column(
            f"{confidence} confidence interval (%)",
            lambda row: share_interval(row.superiority_low, row.superiority_high),
        ),
    ]
    table = tabulate("ratings_effects", "Effect sizes of the rating differences", fields, known)
    figure: Figure | Fold = _superiority_figure(known, names)
    opened = Fold(summary=f"Effect sizes of all {plural(len(known), 'pair')}", blocks=(table, figure))
    return [*blocks, Paragraph(text=_largest(known, names)), opened]


def _largest(known: list[RatingTest], names: Names) -> str:
    shares = [row.superiority or 0.0 for row in known]
    place = max(range(len(known)), key=lambda place: abs(shares[place] - 0.5))
    row, share = known[place], shares[place]
    first, second = names.system(row.system_x), names.system(row.system_y)
    first, second, share = (first, second, share) if share >= 0.5 else (second, first, 1 - share)
    return (
        f"The largest is that of {first} and {second} ({names.group(row.group)}, "
        f"{names.criterion(row.criterion)}): {first} is rated higher {percent(share)} of the time, equal ratings "
        "counted half."
    )


def _superiority_figure(rows: Sequence[RatingTest], names: Names) -> Figure | Fold:
    """Return the figure of how often the first system of a pair was rated above the second."""
    what = "Chance that a rating of the first system is above that of the second beside it, equal ones half"
    drawn, left_out = drawn_groups(aligned(rows), names)
    drawing = partial(
        forest_plot,
        [{**asdict(row), "ci_low": row.superiority_low, "ci_high": row.superiority_high} for row in drawn],
        **called(drawn, names),
        value="superiority",
        alternative=f"{what}, with intervals; {BESIDE}.",
    )
    known = any(row.superiority_low is not None for row in drawn)
    intervals = f", with {names.confidence} confidence intervals" if known else ""
    caption = f"{what}{intervals}. The line is 50%, no difference.{left_out}"
    return folded("superiority", drawing, caption, len(drawn), how_many(drawn, names))
