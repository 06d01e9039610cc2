"""What the report says of circles: in a sentence where a ranking would mislead, else in the appendix."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.circles.circles import CircleRow, CircleTriple
from analysis.contribution import Shown
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.circle_words import way_round
from analysis.printing.document import Block, Bullets, Cell, Fold, Paragraph, Section
from analysis.printing.names import Names
from analysis.printing.words import count, interval, p_value, p_words, percent, plural, sentence, signed
from analysis.statistics.corrections import reaches

INTRO = (
    "A ranking holds where one number for each system explains all pairs. What it leaves goes round: in triples, or in "
    "longer circles. Noise alone leaves some, which is named beside it; a share means nothing without that."
)
MOST_SHOWN = 20  # triples in the table


def circles(rows: Sequence[CircleRow], triples: Sequence[CircleTriple], shown: Shown) -> Section | None:
    """Report whether one order explains the answers; nothing where there is nothing that could go round."""
    told = [row for row in rows if row.share_gradient is not None]
    if not told:
        return None
    names = shown.names
    blocks: list[Block] = [Paragraph(text=INTRO), Bullets(items=tuple(_words(row, shown) for row in told))]
    blocks.append(
        tabulate("circles", "What one order explains", _fields(names), told, constant=("Criterion",), csv="circles")
    )
    if triples:
        some = list(triples[:MOST_SHOWN])
        more = f" (the first {MOST_SHOWN} of {len(triples):,})" if len(triples) > MOST_SHOWN else ""
        table = tabulate(
            "circle_triples", "Triples", _triple_fields(shown), some, constant=("Criterion",), csv="circle_triples"
        )
        blocks.append(Fold(summary=f"The triples that go round most{more}", blocks=(table,)))
    return Section(id="circles", title="Does one order exist?", blocks=tuple(blocks))


def _words(row: CircleRow, shown: Shown) -> str:
    names = shown.names
    what = f"{sentence(names.source_by_group(row.source, row.group))}, {names.criterion(row.criterion)}"
    cyclic = 1 - (row.share_gradient or 0)
    size = f"{percent(cyclic)} of the variation goes round, {percent(row.expected_cyclic)} by noise"
    if row.cyclic_high is not None:
        size += f"; without noise {_between(row.cyclic_low, row.cyclic_high)}"
    if row.p_adjusted is None:
        return f"{what}: {size}; not tested ({row.reason})."
    tested = f"{size} ({p_words(row.p_adjusted)})"
    if row.verdict == "circle":
        return f"{what}: no order exists: {way_round(row, names)}. {sentence(tested)}."
    if row.verdict == "no scale":
        loose = f" By the mean answers {way_round(row, names)}, not each step clearly." if row.circle else ""
        kept = "" if row.circle else " The order holds, but how far two systems are apart hangs on whom they meet."
        return f"{what}: no one number for each system explains the pairs: {tested}.{kept}{loose}"
    all_but = (
        "all but little of the pairs" if reaches(row.p_adjusted, shown.settings.fwer) else "the pairs as far as we know"
    )
    return f"{what}: one order explains {all_but}: {tested}."


def _part(row: CircleRow, part: str) -> Cell:
    low, high = getattr(row, f"{part}_low"), getattr(row, f"{part}_high")
    return cell(percent(getattr(row, f"share_{part}")), detail="" if high is None else _between(low, high))


def _between(bottom: float | None, top: float | None) -> str:
    low, high = percent(bottom), percent(top)
    return low if low == high else f"{low.removesuffix('%')} to {high}"


def _fields(names: Names) -> list[Field[CircleRow]]:
    return [
        text_column("From", lambda row: sentence(names.source_by_group(row.source, row.group))),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("n", lambda row: count(row.n), "annotators (of an LLM: assignments), or items"),
        number_column("Pairs", lambda row: count(row.n_pairs)),
        number_column("One order", lambda row: percent(row.share_gradient), "share of the variation of log odds"),
        number_column("In triples", lambda row: _part(row, "curl"), "with the interval of that share without noise"),
        number_column("In longer circles", lambda row: _part(row, "harmonic"), "likewise"),
        number_column(
            "By noise", lambda row: percent(row.expected_cyclic), "share that goes round where one order is true"
        ),
        number_column(
            "Goes round",
            lambda row: "" if row.cyclic_high is None else _between(row.cyclic_low, row.cyclic_high),
            "interval of the share in circles without noise",
        ),
        number_column("Adjusted p", lambda row: p_value(row.p_adjusted), "of one order, against what goes round"),
        text_column("Triples broken", _broken, "weak, moderate and strong transitivity of the mean answers"),
    ]


def _broken(row: CircleRow) -> Cell:
    if not row.n_triples:
        return cell("no triple")
    broken = f"{count(row.weak_broken)}, {count(row.moderate_broken)}, {count(row.strong_broken)}"
    return cell(f"{broken} of {plural(row.n_triples, 'triple')}")


def _triple_fields(shown: Shown) -> list[Field[CircleTriple]]:
    names = shown.names

    def margin(name: str) -> Field[CircleTriple]:
        return number_column(
            sentence(name),
            lambda row: cell(
                signed(100 * getattr(row, f"{name}_margin"), 1),
                detail=interval(getattr(row, f"{name}_low"), getattr(row, f"{name}_high"), as_percent=True),
            ),
            f"percentage points of A over C above what {name} transitivity asks for, with the {shown.confidence} "
            "interval; below 0 it is broken",
        )

    return [
        text_column(
            "Systems A, B, C", lambda row: ", ".join(map(names.system, (row.system_a, row.system_b, row.system_c)))
        ),
        text_column("From", lambda row: sentence(names.source_by_group(row.source, row.group))),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("A over B", lambda row: percent(row.share_ab)),
        number_column("B over C", lambda row: percent(row.share_bc)),
        number_column("A over C", lambda row: percent(row.share_ac)),
        number_column("Around", lambda row: signed(row.around), "log odds of A over B, B over C and C over A together"),
        margin("weak"),
        margin("moderate"),
        margin("strong"),
    ]
