"""What the report says of strengths with covariates held constant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.contribution import Shown
from analysis.covariates.equal_length import EqualLengthRate
from analysis.covariates.held_constant import ControlledStrength, CovariateEffect
from analysis.figures.plain_text import shown_name
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Bullets, Cell, Fold, Paragraph, Section, Table
from analysis.printing.lookup import grouped
from analysis.printing.names import Names
from analysis.printing.words import count, interval, listed, number, percent, plural, sentence, share_interval, signed

UNITS = {
    "length": "each doubling of length",
    "headings": "a first heading",
    "lists": "a first item of a list",
    "bold": "a first bold part",
}
HELD = {"length": "length", "headings": "headings", "lists": "items of lists", "bold": "bold parts"}
OF_THESE = (
    "Those of preferences hold for further annotators who read these outputs: further outputs of the same systems may "
    "show another effect, however narrow the interval."
)
TURNED = 6  # pairs that sentences name
LISTED = 12  # rows of a table that is not folded
CAUTION = (
    "What is held constant may be part of what makes an output good, such as the length of a full answer: these "
    "strengths say which system wins beyond it, not which outputs are better as they are. An effect says what goes "
    "with such answers; only outputs changed on purpose would show what causes them."
)


def held_section(
    effects: Sequence[CovariateEffect],
    strengths: Sequence[ControlledStrength],
    rates: Sequence[EqualLengthRate],
    shown: Shown,
) -> Section | None:
    """Say what covariates are worth to each group, which orders change, and what the win rates are at equal length."""
    if not effects:
        return None
    names = shown.names
    known = [row for row in effects if row.coefficient is not None]
    blocks: list[Block] = []
    if known:
        about = (
            "Do answers follow what outputs look like? Strengths were fitted a second time with these held constant. "
            "Points are percentage points added to an even comparison"
            + (
                ". Asking ended by the answers, so that there are no intervals."
                if shown.live
                else f"; in brackets their {shown.confidence} confidence intervals."
            )
        )
        if not shown.live and any(row.source == "preferences" for row in known):
            about += f" {OF_THESE}"
        blocks += [
            Paragraph(text=about),
            Bullets(items=tuple(_effects(known, names, live=shown.live))),
            *_orders(strengths, names),
            Paragraph(text=CAUTION),
            _strength_table(strengths, shown),
        ]
    if lines := [*_not_held(effects, names), *_left_out(effects, names)]:
        blocks.append(Bullets(items=tuple(lines)))
    if rates:
        blocks += _rates(rates, shown)
    return Section(id="held-constant", title="Strengths with covariates held constant", blocks=tuple(blocks))


def _effects(rows: Sequence[CovariateEffect], names: Names, *, live: bool) -> Iterator[str]:
    """Yield a sentence a covariate and criterion: what it is worth to each group."""
    for own in grouped(rows, lambda row: (row.source, row.criterion, row.covariate)).values():
        parts = []
        for number_of, row in enumerate(own):
            assert row.points is not None
            said = "win rate" if row.source == "choices" else "preference"
            points = f"{signed(row.points, 1)} points of {said}" if number_of == 0 else signed(row.points, 1)
            parts.append(f"{points} to {names.group(row.group)}" + ("" if live else f" ({_interval(row)})"))
        about = f"{names.criterion_asked(own[0], rows)}: " if len({row.criterion for row in rows}) > 1 else ""
        yield sentence(f"{about}{_unit(own[0])} is worth {', '.join(parts)}.")


def _unit(row: CovariateEffect) -> str:
    if row.unit == "standard deviation":
        return f"each {row.unit_size:.3g} more of {shown_name(row.covariate)} (a standard deviation)"
    return UNITS[row.covariate]


def _interval(row: CovariateEffect) -> str:
    low, high = row.points_low, row.points_high
    if low is None or high is None:
        return "no interval"
    return interval(low, high, decimals=1) + (": may be none" if low <= 0 <= high else "")


def _orders(rows: Sequence[ControlledStrength], names: Names) -> list[Block]:
    """Say which orders change."""
    lines, same = [], []
    parts = grouped(rows, lambda row: (row.source, row.group, row.criterion))
    several = len({row.criterion for row in rows}) > 1
    for own in parts.values():
        before, after = (_order(own, names, held=held) for held in (False, True))
        who = names.source_by_group(own[0].source, own[0].group)
        who += f", {names.criterion(own[0].criterion)}" if several else ""
        if before == after:
            same.append(who)
        else:
            what = listed([_name(one) for one in own[0].held])
            lines.append(f"{sentence(who)}: with {what} held constant the order is {after}; without, {before}.")
    if same:
        lines.append(f"The order stays the same: {listed(same)}.")
    return [Bullets(items=tuple(lines))] if lines else []


def _order(rows: Sequence[ControlledStrength], names: Names, *, held: bool) -> str:
    places: dict[int, list[str]] = {}
    for row in rows:
        place = row.controlled_rank if held else row.rank
        if place is not None:
            places.setdefault(place, []).append(names.system(row.system))
    return ", ".join(f"{place}. {' = '.join(places[place])}" for place in sorted(places))


def _name(covariate: str) -> str:
    return HELD.get(covariate, shown_name(covariate))


def _strength_table(rows: Sequence[ControlledStrength], shown: Shown) -> Table:
    names = shown.names
    ranked = [
        row
        for own in grouped(rows, lambda row: (row.source, row.group, row.criterion)).values()
        for row in sorted(own, key=lambda row: row.controlled_rank or len(rows) + 1)
    ]
    fields: list[Field[ControlledStrength]] = [
        text_column("System", lambda row: names.system(row.system)),
        text_column("From", lambda row: sentence(names.source_by_group(row.source, row.group))),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Strength", lambda row: _with(row.strength, row.ci_low, row.ci_high), "as outputs are"),
        number_column("Rank", lambda row: count(row.rank)),
        number_column(
            "Held constant",
            lambda row: _with(row.controlled, row.controlled_low, row.controlled_high),
            "strength with the covariates held constant",
        ),
        number_column("Rank then", lambda row: count(row.controlled_rank)),
        text_column("Note", _note, "what intervals are clustered by (CR1), or why a number is missing"),
    ]
    caption = "Strengths without and with covariates held constant"
    return tabulate("controlled_strengths", caption, fields, ranked, constant=("From", "Criterion", "Note"))


def _with(value: float | None, low: float | None, high: float | None) -> Cell:
    return cell(number(value), detail=interval(low, high) if low is not None else "")


def _note(row: ControlledStrength) -> Cell:
    if row.reason is not None:
        return Cell(text=str(row.reason), tone="untested")
    return cell(f"by {row.interval}: {row.n_clusters}" if row.interval else "")


def _not_held(rows: Sequence[CovariateEffect], names: Names) -> Iterator[str]:
    """Yield a line a reason: what was not held constant, for whom."""
    absent = [row for row in rows if row.coefficient is None]
    several = len({row.criterion for row in rows}) > 1
    lines: dict[tuple[str, str], list[str]] = {}
    for row in absent:
        who = names.source_by_group(row.source, row.group) + (f", {names.criterion(row.criterion)}" if several else "")
        lines.setdefault((who, str(row.reason)), []).append(_name(row.covariate))
    for (what, reason), whose in _by_what(lines).items():
        yield f"Not held constant: {listed([*what])} ({'; '.join(whose)}): {reason}."


def _by_what(lines: dict[tuple[str, str], list[str]]) -> dict[tuple[tuple[str, ...], str], list[str]]:
    found: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for (who, reason), what in lines.items():
        found.setdefault((tuple(what), reason), []).append(who)
    return found


def _left_out(rows: Sequence[CovariateEffect], names: Names) -> Iterator[str]:
    for own in grouped(rows, lambda row: (row.source, row.group, row.criterion)).values():
        row = own[0]
        if row.n_left_out and row.n:
            who = f"{sentence(names.source_by_group(row.source, row.group))}, {names.criterion(row.criterion)}"
            yield f"{who}: {plural(row.n_left_out, 'comparison')} left out, as a covariate of an output is not known."


def _rates(rows: Sequence[EqualLengthRate], shown: Shown) -> list[Block]:
    names = shown.names
    turned = [
        row for row in rows if row.equal_length is not None and (row.equal_length - 0.5) * (row.win_rate - 0.5) < 0
    ]
    lines = [
        f"{_who(names, row.group)}, {names.criterion(row.criterion)}: {names.system(row.system_x)} wins "
        f"{percent(row.win_rate)} against {names.system(row.system_y)} as outputs are, and would win "
        f"{percent(row.equal_length)}{_rate_interval(row)} at equal length."
        for row in turned[:TURNED]
    ]
    if more := len(turned) - TURNED:
        lines += [f"{plural(more, 'more pair')} turn likewise."] if more > 0 else []
    fields: list[Field[EqualLengthRate]] = [
        text_column("Pair", names.over),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Win rate", lambda row: percent(row.win_rate), "as outputs are"),
        number_column("At equal length", lambda row: percent(row.equal_length), "by characters, this pair alone"),
        number_column(f"{shown.confidence} confidence interval", lambda row: share_interval(row.ci_low, row.ci_high)),
        number_column("n", lambda row: count(row.n)),
        text_column("Note", lambda row: str(row.reason or "")),
    ]
    caption = "Win rates at equal length"
    table = tabulate("equal_length", caption, fields, rows, constant=("Group", "Criterion", "Note"))
    shown_table: Block = (
        table if len(rows) <= LISTED else Fold(summary=f"{caption} ({len(rows):,} rows)", blocks=(table,))
    )
    return [*([Bullets(items=tuple(lines))] if lines else []), shown_table]


def _who(names: Names, group: str) -> str:
    """Return who answered at the start of a sentence, where a model's name keeps its letters."""
    who = names.group(group)
    return who if names.kind(group) == "llm" else sentence(who)


def _rate_interval(row: EqualLengthRate) -> str:
    return f" ({share_interval(row.ci_low, row.ci_high)})" if row.ci_low is not None else ""
