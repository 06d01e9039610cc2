"""Tables that cannot tell whether a slider was moved say so; those of our forms need not."""

from __future__ import annotations

import polars as pl

from tests.analysis.made_answers import preferences, ratings, run


def caveats(**frames: pl.DataFrame) -> list[str]:
    headline = run(**frames)["headline"]
    every = [*headline["problems"], *headline["more_problems"]]
    return [row["text"] for row in every if row["kind"] == "untouched_sliders"]


def test_sliders_in_the_middle_are_told() -> None:
    """One in five of 0 to 100 at 50 is told, with percentages; steps, a study's own tables and few such answers not."""
    score = [0, 100, 50, 33, 71, 12, 88, 64, 27, 50, 43, 95, 81, 9, 22, 76, 38, 59, 66, 15]
    rows = [("a", f"i{n}", "xy"[n % 2], value) for n, value in enumerate(score)]
    table = ratings(rows)
    assert caveats(ratings=table) == [
        "2 of 20 percentages and answers on long scales stand in the middle, where sliders usually begin; the tables "
        "do not tell whether those were moved (a form of spa-eval has no answer until then)."
    ]
    assert caveats(ratings=table, preferences=preferences([("a", "x", "y", 0.5)]))[0].startswith("3 of 21")
    assert caveats(ratings=table.with_columns(visit=pl.lit("completed"))) == []
    assert caveats(ratings=table.with_columns(annotator_kind=pl.lit("llm"))) == []
    assert caveats(ratings=ratings([(*row[:3], 1 + n % 5) for n, row in enumerate(rows)])) == []
    fewer = [(*row[:3], 51 if n == 9 else row[3]) for n, row in enumerate(rows)]
    assert caveats(ratings=ratings(fewer)) == []
