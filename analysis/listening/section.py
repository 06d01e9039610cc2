"""What the report says of hidden references and anchors, and of listeners who did not tell them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.answers.post_screening import BOUND, LEAST_VARIANCE, OFTEN, ConstantVotes, ListenerCheck
from analysis.contribution import Shown
from analysis.figures.plain_text import shown_name
from analysis.listening.unranked_means import ReferenceDifference, UnrankedMean
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Cell, Fold, Paragraph, Section
from analysis.printing.words import count, interval, number, plural, signed

ROLES = {"hidden_reference": "hidden reference", "anchor": "anchor"}
INTRO = "Hidden references and anchors were rated as the systems were, and are in no test, ranking or strength."


def listening(
    means: Sequence[UnrankedMean],
    differences: Sequence[ReferenceDifference],
    listeners: Sequence[ListenerCheck],
    constant: Sequence[ConstantVotes],
    shown: Shown,
) -> Section:
    """Show means, differences from the own hidden reference, and the counts by which listeners are left out."""
    blocks: list[Block] = []
    if means:
        blocks += [
            Paragraph(text=INTRO),
            tabulate(
                "unranked_means",
                "Mean ratings of hidden references and anchors",
                _mean_fields(shown),
                means,
                constant=("Group", "Criterion"),
                csv="unranked_means",
            ),
        ]
    if differences:
        table = tabulate(
            "reference_differences",
            "Distance from the own hidden reference",
            _difference_fields(shown),
            differences,
            constant=("Group", "Criterion"),
            csv="reference_differences",
        )
        blocks.append(table)
    blocks += _screened(listeners, shown)
    if constant:
        blocks.append(
            tabulate(
                "constant_votes",
                f"Sessions whose votes have a variance below {LEAST_VARIANCE:g}",
                _vote_fields(shown),
                constant,
                [_declared("p808", shown, "such sessions")],
                constant=("Group",),
                csv="constant_votes",
            )
        )
    return Section(id="listening", title="Hidden reference, anchors and listeners", blocks=tuple(blocks))


def _screened(listeners: Sequence[ListenerCheck], shown: Shown) -> Iterator[Block]:
    if not listeners:
        return
    failing = [row for row in listeners if row.fails_reference or row.fails_anchor]
    below, above = (sum(getattr(row, name) for row in listeners) for name in ("fails_reference", "fails_anchor"))
    yield Paragraph(
        text=f"Of {plural(len(listeners), 'listener')}, {count(below)} rated the hidden reference below {BOUND:g} in "
        f"more than {OFTEN}% of their own items, and {count(above)} the 7 kHz anchor above {BOUND:g} (BS.1534-3). "
        + _declared("bs1534", shown, "they")
    )
    fields = _listener_fields(shown)
    table = tabulate(
        "post_screening", "Listeners by hidden reference and mid anchor", fields, listeners, csv="post_screening"
    )
    if failing:
        yield tabulate("post_screening_failing", "Listeners above a bound", fields, failing)
    yield Fold(summary=f"All {plural(len(listeners), 'listener')}", blocks=(table,))


def _declared(rule: str, shown: Shown, who: str) -> str:
    if rule in shown.settings.post_screening:
        return f"The plan leaves {'them' if who == 'they' else who} out."
    return f"The plan does not leave {'them' if who == 'they' else who} out (post_screening)."


def _who(shown: Shown) -> list[Field[ListenerCheck]]:
    return [
        text_column("Annotator", lambda row: cell(shown_name(row.annotator_id), quoted=True)),
        text_column("Group", lambda row: shown.names.group(row.group)),
    ]


def _mean_fields(shown: Shown) -> list[Field[UnrankedMean]]:
    names = shown.names
    return [
        text_column("System", lambda row: names.system(row.system)),
        text_column("Role", lambda row: ROLES[row.role] + (f", {row.low_pass:,g} Hz" if row.low_pass else "")),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column(
            "Mean", lambda row: _with_interval(number(row.mean), row), f"with its {shown.confidence} interval"
        ),
        number_column("Ratings", lambda row: count(row.n)),
    ]


def _difference_fields(shown: Shown) -> list[Field[ReferenceDifference]]:
    names = shown.names
    return [
        text_column("System", lambda row: names.system(row.system)),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column(
            "Less the reference",
            lambda row: _with_interval(signed(row.difference), row),
            f"points that listeners gave it less those of their own hidden reference, with the {shown.confidence} "
            "interval over listeners",
        ),
        number_column("n", lambda row: count(row.n), "listeners"),
        number_column("Items", lambda row: count(row.n_items)),
    ]


def _with_interval(text: str, row: UnrankedMean | ReferenceDifference) -> Cell:
    return cell(text, detail="" if row.ci_low is None else interval(row.ci_low, row.ci_high))


def _listener_fields(shown: Shown) -> list[Field[ListenerCheck]]:
    return [
        *_who(shown),
        number_column(
            "Reference below 90",
            lambda row: _of(row.reference_below, row.reference_items, fails=row.fails_reference),
            "own items whose hidden reference was rated below 90, of all with one",
        ),
        number_column(
            "Mid anchor above 90",
            lambda row: _of(row.anchor_above, row.anchor_items, fails=row.fails_anchor),
            "own items whose 7 kHz anchor was rated above 90, of those that count",
        ),
        number_column(
            "Not counted",
            lambda row: count(row.anchor_not_counted),
            "items whose anchor more than 25% of listeners rate above 90, or hardly differs from the reference",
        ),
    ]


def _of(part: int, of: int, *, fails: bool) -> str:
    return f"{part} of {of}{f' ({part / of:.1%})' if fails else ''}"


def _vote_fields(shown: Shown) -> list[Field[ConstantVotes]]:
    return [
        text_column("Annotator", lambda row: cell(shown_name(row.annotator_id), quoted=True)),
        text_column(
            "Session", lambda row: "all answers" if row.assignment_id is None else shown_name(row.assignment_id)
        ),
        text_column("Group", lambda row: shown.names.group(row.group)),
        number_column("Votes", lambda row: count(row.votes)),
        number_column("Variance", lambda row: number(row.variance, 3)),
    ]
