"""Ways of asking beside each other: an undecided result is neither agreement nor contradiction."""

from __future__ import annotations

import pytest

from analysis.printing.document import Bullets, Paragraph
from analysis.printing.lookup import pair_results
from analysis.printing.names import Names
from analysis.report.orientation import oriented
from analysis.report.side_by_side import matrix, side_by_side
from analysis.results.files import from_plain
from tests.analysis.sample_results import full_results, preference

OF_PEOPLE = preference("human", "A", "B", 0.7)


@pytest.mark.parametrize(
    ("mean", "p_adjusted", "said"),
    [(0.8, 0.0001, "yes"), (0.2, 0.0001, "no: opposite"), (0.6, 0.3, "undecided: 1 of 2")],
)
def test_whether_two_groups_agree(mean: float, p_adjusted: float, said: str):
    rows = [OF_PEOPLE, preference("gpt", "A", "B", mean, p_adjusted=p_adjusted)]
    results = oriented(from_plain({**full_results(), "preferences": rows}))
    table = matrix(pair_results(results, "preferences"), Names(results), "overall", several=False)
    assert table is not None
    assert [row[-1].text for row in table.rows] == [said]
    assert {"0.8": "80.0%", "0.2": "20.0%", "0.6": "60.0%"}[str(mean)] in [row[2].detail for row in table.rows]


@pytest.mark.parametrize(
    ("verdicts", "said", "line"),
    [
        (("x", "y"), "On 1 pair two clear results are opposite.", "B is better by SPA by gpt"),
        (
            ("x", "indifferent"),
            "On no pair two clear results are opposite. On 1 pair some are clear and others undecided: an undecided "
            "result neither confirms nor contradicts a clear one.",
            "undecided by SPA by gpt",
        ),
    ],
)
def test_undecided_is_not_different(verdicts: tuple[str, str], said: str, line: str):
    rows = [
        {"source": "preferences", "group": group, "exposure": 5, "verdict": verdict, "p_adjusted": 0.01}
        for group, verdict in zip(("human", "gpt"), verdicts, strict=True)
    ]
    entry = {"criterion": "overall", "system_x": "A", "system_y": "B", "verdicts": rows}
    tests = [OF_PEOPLE, preference("gpt", "A", "B", 0.2)]
    section = side_by_side(from_plain({**full_results(), "preferences": tests, "disagreements": [entry]}))
    assert section is not None
    blocks = (*section.blocks, *section.appendix)
    assert said in [block.text for block in blocks if isinstance(block, Paragraph)]
    (lines,) = (block.items for block in blocks if isinstance(block, Bullets))
    people = "A and B: A is better by SPA by people (adjusted p\xa0=\xa0.010)"
    assert lines == (f"{people}; {line} (adjusted p\xa0=\xa0.010).",)


@pytest.mark.parametrize("form", ["variant", "identical"])
def test_who_answered_another_form_is_named(form: str):
    """Groups that answered a variant of the form are named, where there are some."""
    results = full_results()
    groups = [{**row, "form": form if row["annotator_kind"] == "llm" else row["form"]} for row in results["groups"]]
    found = from_plain({**results, "groups": groups})
    section = side_by_side(found)
    assert section is not None
    name = Names(found).group("gpt<4>/persona_a")
    texts = [block.text for block in (*section.blocks, *section.appendix) if isinstance(block, Paragraph)]
    said = [text for text in texts if "answered a variant of the form" in text]
    assert [text.startswith(f"{name} answered") for text in said] == ([True] if form == "variant" else [])
