"""All pairs at a glance: chances by row and column, with a line where they were decided."""

from __future__ import annotations

import re
from itertools import combinations

from analysis.figures.drawing import Look, grey
from analysis.printing.document import Figure, Table, every_block
from analysis.report.sections import build_document
from analysis.results.files import from_plain
from tests.analysis.sample_results import empty_results, many_results, preference

UNDER = re.compile(r'<path d="[^"]*" fill="none" stroke="[^"]*" stroke-width="1.5"')


def matrices(results: dict[str, object]) -> list[Figure]:
    """Return the matrices of a report."""
    blocks = [one for section in build_document(from_plain(results)).sections for one in every_block(section.blocks)]
    return [one for one in blocks if isinstance(one, Figure) and one.name.startswith("wins-")]


def test_a_matrix_has_every_pair_twice() -> None:
    """Of five systems ten pairs, each from both sides; the two without a verdict have no line."""
    pairs = list(combinations("abcde", 2))
    rows = [preference("human", x, y, 0.7, p_adjusted=0.2 if y == "b" or x == "d" else 0.001) for x, y in pairs]
    (figure,) = matrices({**empty_results(), "preferences": rows})
    assert figure.drawing is not None
    assert len(re.findall(r">(?:70|30)%<", figure.drawing(look=Look(total=500)))) == 20
    greys = [grey(share) for share in (0.7, 0.3)]
    assert [len(re.findall(f'fill="{one}"', figure.svg)) for one in greys] == [10, 10]
    assert not re.findall(r">(?:70|30)%<", figure.svg)  # which the table beside it holds
    assert all(f">{step}%<" in figure.svg for step in (0, 25, 50, 75, 100))  # the whole scale of greys
    assert len(UNDER.findall(figure.svg)) == 2 * (len(pairs) - 2)
    assert "decided at level .05, Holm" in figure.caption
    assert figure.units == "n: 88 people."


def test_few_systems_have_no_matrix() -> None:
    """Six pairs of four systems are read in their table."""
    rows = [preference("human", x, y, 0.7) for x, y in combinations("abcd", 2)]
    assert matrices({**empty_results(), "preferences": rows}) == []


def test_no_matrix_follows_the_table_of_its_numbers() -> None:
    """A matrix of each of two groups stands before the table that has the same numbers."""
    for section in build_document(from_plain(many_results())).sections:
        named = [one for one in every_block(section.blocks) if isinstance(one, Figure | Table)]
        for place, one in enumerate(named):
            if one.name.startswith("wins-"):
                assert place == 0 or not one.name.startswith(f"wins-{named[place - 1].name}")
                assert any(isinstance(later, Table) for later in named[place:])
    assert len(matrices(many_results())) >= 2
