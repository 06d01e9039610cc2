"""What was said of single outputs, by hand-made answers."""

from __future__ import annotations

from analysis.monitoring.item_scores import item_scores
from tests.analysis.made_answers import check, choices, ratings

RATED = [("a", "i", "x", 2), ("b", "i", "x", 4), ("a", "i", "y", 5), ("a", "j", "x", 1), ("a", "i", "z", 1)]
CHOSEN = [("a", "i", "x", "y", "x"), ("b", "i", "y", "x", "tie"), ("b", "j", "x", "z", "y")]


def said(scores, item, system):
    return [(each.source, each.value, each.n) for each in scores.get(item, {}).get(system, ())]


def test_scores_are_means_by_output_and_choices_the_share_won():
    scores = item_scores(check(ratings=ratings(RATED), choices=choices(CHOSEN)), "x", "y", "overall")
    assert said(scores, "i", "x") == [("ratings", 3.0, 2), ("choices", 0.75, 2)]
    assert said(scores, "i", "y") == [("ratings", 5.0, 1), ("choices", 0.25, 2)]
    assert said(scores, "j", "x") == [("ratings", 1.0, 1)]
    assert said(scores, "j", "y") == []
    assert "z" not in scores["i"]


def test_item_scores_by_kind_of_annotator():
    """People and LLMs stand apart and missing answers count for nothing."""
    rows = [("a", "i", "x", 2), ("b", "i", "x", "NA"), ("gpt", "i", "x", 5)]
    scores = item_scores(check(ratings=ratings(rows), llms=("gpt",)), "x", "y", "overall")
    assert [(each.group, each.value, each.n) for each in scores["i"]["x"]] == [("human", 2.0, 1), ("gpt", 5.0, 1)]


def test_nothing_is_said_of_another_criterion():
    assert item_scores(check(ratings=ratings(RATED)), "x", "y", "fluency") == {}
