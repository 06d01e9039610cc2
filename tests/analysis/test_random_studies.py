"""Random studies: no figure depends on names or order, and the first page says what the answers, worked out anew, do.

``python -m tests.analysis.random_study_run 0 100`` does the same, and more, of many studies.
"""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import pytest

from analysis.results.files import to_json
from tests.analysis.random_studies import random_study
from tests.analysis.random_study_changes import changed_figures
from tests.analysis.second_opinion import SecondOpinion

# Of each, something once changed: the group that the first page names, the reason why a model was not fitted, what is
# drawn about circles, the group that LLMs are compared with; why nothing was tested, why no ties were fitted. The last:
# people count, not their sessions.
CASES = (
    ("together", 2, "shuffled"),
    ("ratings", 0, "shuffled"),
    ("choices", 0, "criteria"),
    ("orders", 40, "shuffled"),
    ("preferences", 22, "sorted"),
    ("choices", 15, "sorted"),
    ("choices", 27, "in_two_sessions"),
)
SAID = (  # in which the first page names a winner
    ("ratings", 97),
    ("choices", 31),
    ("choices", 34),
    ("preferences", 17),
    ("soft_choices", 5),
    ("orders", 25),
    ("together", 1),
    ("listening", 2),
)


@pytest.mark.parametrize(("asked", "seed", "change"), CASES)
def test_random_studies_do_not_depend_on_names_and_rows(asked: str, seed: int, change: str) -> None:
    assert changed_figures(random_study(asked, seed), change, seed) == []


@cache
def opinion(asked: str, seed: int) -> SecondOpinion:
    study = random_study(asked, seed)
    return SecondOpinion(study=study, results=json.loads(to_json(study.analyse())))


@pytest.mark.parametrize(("asked", "seed"), SAID)
def test_the_first_page_says_what_the_answers_do(asked: str, seed: int) -> None:
    found = opinion(asked, seed)
    assert {claim["strength"] for claim in found.results["headline"]["claims"]} - {"not_clear"}
    assert found.disagreements() == []


def wrong(results: dict[str, Any], what: str) -> None:
    """Put one thing wrong in results of ratings."""
    page, row = results["headline"], next(row for row in results["ratings"]["pairs"] if row["verdict"] in ("x", "y"))
    match what:
        case "winner":
            best, other = page["claims"][0]["leader"], page["claims"][0]["runner_up"]
            page["winner"] = page["winner"].replace(best, "?").replace(other, best).replace("?", other)
        case "n":
            page["certainty"] = page["certainty"].replace("n = ", "n = 1")
        case "caveat":
            page["problems"] = [{"kind": "few_annotators", "text": "Only 5 people answered."}]
        case "verdict":
            row["verdict"] = {"x": "y", "y": "x"}[row["verdict"]]
        case "p_adjusted":
            row["p_adjusted"] = row["p_value"] * 1.01
        case "mean_difference" | "p_value":
            row[what] *= 1.01
        case "group":
            results["groups"][0]["annotators"] += 1


@pytest.mark.parametrize(
    "what", ["winner", "n", "caveat", "verdict", "p_adjusted", "mean_difference", "p_value", "group"]
)
def test_a_second_opinion_sees_what_is_wrong(what: str) -> None:
    right = opinion("ratings", 97)
    changed = copy.deepcopy(right.results)
    wrong(changed, what)
    assert SecondOpinion(study=right.study, results=changed).disagreements()
