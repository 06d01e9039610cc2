"""Best-worst scaling: how often each system was named the best and the worst."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.contribution import Shown
from analysis.orders.best_worst import BestWorstCount
from analysis.printing.cells import Field, number_column, tabulate, text_column
from analysis.printing.document import Block, Bullets, Paragraph, Section
from analysis.printing.names import Names
from analysis.printing.words import count, interval, number, plural, sentence
from analysis.strengths.contribution import BRADLEY_TERRY

ABOUT = (
    "Annotators saw several outputs of one item and named the best and the worst. A system\u2019s score is how often "
    "it was the best, less how often it was the worst, out of the answers that showed it: 1 always the best, "
    "\u22121 always the worst. Each answer also counts as choices, the best over all other outputs and each other one "
    "over the worst, so that the tests and Bradley-Terry strengths of choices hold for them. Choices of one answer "
    "go together: intervals are by annotator (of an LLM: by assignment), never by choice."
)


def best_worst(rows: Sequence[BestWorstCount], shown: Shown) -> Section:
    """Report the counts, best system first."""
    names = shown.names
    strengths = {
        (one.group, one.criterion, one.system): one for one in shown.of(BRADLEY_TERRY) if one.source == "choices"
    }

    def strength(row: BestWorstCount) -> str:
        found = strengths.get((row.group, row.criterion, row.system))
        return "" if found is None else number(found.strength)

    fields: list[Field[BestWorstCount]] = [
        text_column("System", lambda row: names.system(row.system)),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Shown", lambda row: count(row.n), "answers that showed an output of it"),
        number_column("Best", lambda row: count(row.best)),
        number_column("Worst", lambda row: count(row.worst)),
        number_column("Score", lambda row: number(row.score), "best less worst, over shown"),
        number_column(f"{shown.confidence} confidence interval", lambda row: interval(row.ci_low, row.ci_high)),
        number_column("Bradley-Terry", strength, "strength from the choices that answers imply"),
        text_column("Note", lambda row: str(row.reason or "")),
    ]
    groups = dict.fromkeys((row.group, row.criterion) for row in rows)
    sorted_rows = [
        row for key in groups for row in sorted(rows, key=lambda row: -row.score) if (row.group, row.criterion) == key
    ]
    caption = "Best and worst by system"
    constant = ("Group", "Criterion", "Note")
    blocks: list[Block] = [
        Paragraph(text=ABOUT),
        tabulate("best_worst", caption, fields, sorted_rows, constant=constant, csv="best_worst"),
    ]
    if lines := tuple(line for key in groups if (line := _left_out(rows, key, names))):
        blocks.append(Bullets(items=lines))
    return Section(id="best-worst", title="Best and worst outputs", blocks=tuple(blocks))


def _left_out(rows: Sequence[BestWorstCount], key: tuple[str, str], names: Names) -> str:
    number_left = next(row.n_left_out for row in rows if (row.group, row.criterion) == key)
    about = f"{sentence(names.group(key[0]))}, {names.criterion(key[1])}"
    return f"{about}: {plural(number_left, 'answer')} without one best and one worst left out." if number_left else ""
