"""Best-worst scaling: drawn in balance, asked alike of people and LLMs, read strictly, exported as choices."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.elicitation.assignment_json import assignment_from_json, assignment_to_json
from spa.elicitation.best_worst import BestWorstTarget
from spa.errors import StudyError
from spa.forms.build import build_form
from spa.forms.html import render_page
from spa.forms.prompt import answer_format
from spa.forms.texts import load_texts
from spa.raters.endpoints.endpoint import LLMReply
from spa.raters.reading import read_answers
from spa.records.assignment import Assignment, BlindingKey
from spa.records.form import AnswerOption, ExhibitsBlock, Question
from spa.records.raters import RaterProtocol
from spa.records.study import Study
from spa.records.submission import Missing, Response
from spa.responses.answer_rows import target_from_json, target_to_json
from spa.responses.answers import parse_answer, parse_answers
from spa.simulation.simulated_annotators import PERFECT, SimulatedAnnotator
from spa.simulation.true_utilities import TrueUtilities
from spa.study.sampling import sample_assignments, study_rng
from spa.study.validation import validate_study
from spa.widgets import ExtremesAnswer
from tests.strategies import outputs_of, small_study

TEXTS = load_texts("en", {})
SIX = [{"id": f"zz{number}", "name": f"Zz {number}"} for number in range(6)]
FREE = RaterProtocol(conversation="question", answer_format="text")


def best_worst_study(**tables: Any) -> Study:
    return small_study(**{"spa": None, "best_worst": {}, "design": {"items": 2}, **tables})


def drawn(study: Study, count: int = 1) -> list[tuple[Assignment, BlindingKey]]:
    return list(sample_assignments(study, outputs_of(study), count=count, rng=study_rng(study.seed)))


def question_of(labels: str = "ABCD") -> Question:
    return Question(
        question_id="q7",
        text="Which text is the best, and which is the worst?",
        answer=ExtremesAnswer(options=tuple(AnswerOption(value=one, text=f"System {one}") for one in labels)),
        target=BestWorstTarget(labels=tuple(labels), item_id="i1", samples=(1,) * len(labels), criterion="overall"),
    )


def shown_systems(study: Study, count: int) -> list[frozenset[str]]:
    return [
        frozenset(key.systems[output.label] for output in outputs)
        for assignment, key in drawn(study, count)
        for outputs in assignment.groups_of("best_worst")
    ]


def test_systems_and_pairs_are_shown_evenly() -> None:
    """Of six systems four stand on a page: each as often to within one, every two to within three, at any count."""
    study = best_worst_study(systems=SIX)
    pages = shown_systems(study, 20)
    assert {len(page) for page in pages} == {4}
    for until in range(1, len(pages) + 1):
        systems = Counter({one["id"]: 0 for one in SIX})
        pairs = Counter(dict.fromkeys(map(frozenset, combinations([one["id"] for one in SIX], 2)), 0))
        for page in pages[:until]:
            systems.update(page)
            pairs.update(map(frozenset, combinations(sorted(page), 2)))
        assert max(systems.values()) - min(systems.values()) <= 1
        assert max(pairs.values()) - min(pairs.values()) <= 3
    assert shown_systems(study, 7) == pages[:14]


def test_all_systems_are_shown_where_they_are_few() -> None:
    places: Counter[tuple[str, int]] = Counter()
    for assignment, key in drawn(best_worst_study(), count=9):
        assert assignment_from_json(assignment_to_json(assignment)) == assignment
        for outputs in assignment.groups_of("best_worst"):
            assert len({output.item_id for output in outputs}) == 1
            places.update((key.systems[output.label], place) for place, output in enumerate(outputs))
    assert len(places) == 9
    assert set(places.values()) == {6}


@pytest.mark.parametrize("other", ["choices", "ranking"])
def test_other_choices_by_the_same_criterion_are_refused(other: str) -> None:
    """They would be counted as one kind of choice."""
    problems = [each.message for each in validate_study(best_worst_study(**{other: {}}))]
    assert any(f"[best_worst] criteria: expected no criterion of [{other}]" in text for text in problems), problems
    assert not list(validate_study(best_worst_study()))
    with pytest.raises(ValueError, match="greater than or equal to 2"):
        best_worst_study(best_worst={"size": 1})


def test_page_and_prompt_offer_the_outputs_in_one_order() -> None:
    study = best_worst_study()
    ((assignment, key),) = drawn(study)
    form = build_form(study, outputs_of(study), assignment, key, TEXTS)
    asked = [(page, one) for page in form.pages for one in page.questions if isinstance(one.target, BestWorstTarget)]
    assert len(asked) == 2
    for page, question in asked:
        (shown,) = [block for block in page.blocks if isinstance(block, ExhibitsBlock)]
        assert isinstance(question.target, BestWorstTarget)
        assert tuple(exhibit.label for exhibit in shown.exhibits) == question.target.labels
        assert target_from_json(target_to_json(question.target)) == question.target
        text = render_page(form, page, TEXTS)
        assert text.count('type="radio"') >= 2 * len(question.target.labels)
        assert 'aria-label="Worst: System A"' in text
        assert f'"{question.question_id}": an object with the keys "best" and "worst"' in answer_format(
            [question], TEXTS
        )


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({"best": "A", "worst": "C"}, "A > C"),
        ({"worst": " System C ", "best": "A"}, "A > C"),
        ("A > C", "A > C"),
        ({"best": "A", "worst": "A"}, "expected two different ones of A, B, C, D, got A as both"),
        ({"best": "A"}, "expected one of A, B, C, D as the worst, got none"),
        ({"best": "A", "worst": "E"}, "expected one of A, B, C, D as the worst, got 'E'"),
        ({"best": "A", "worst": ["C"]}, 'expected one of A, B, C, D as the worst, got ["C"]'),
        ({"best": "A", "worst": "C", "second": "B"}, 'expected an object with "best" and "worst"'),
        ({"best": "", "worst": " "}, "no answer"),
        ("A", 'expected an object with "best" and "worst"'),
    ],
)
def test_an_answer_is_read_whole_or_not_at_all(raw: object, value: str) -> None:
    found = parse_answer(question_of(), raw)
    if isinstance(found, Response):
        assert found.value == value
    else:
        assert found.reason.startswith(value)


def test_what_a_page_sends_twice_is_no_answer() -> None:
    """Without script a page can send one output as both."""
    (both,) = parse_answers([question_of()], {"q7-best": "B", "q7-worst": "B"})
    assert isinstance(both, Missing)
    (fine,) = parse_answers([question_of()], {"q7-best": "B", "q7-worst": "D"})
    assert isinstance(fine, Response)
    assert fine.value == "B > D"


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ('{"q7": {"best": "A", "worst": "C"}}', "A > C"),
        ('Here it is: {"best": "A", "worst": "C"}', "A > C"),
        ("Best: System A\nWorst: System C", "A > C"),
        ("**System B** is the best. System D is the worst, since it does not end.", "B > D"),
        ("最好的是 System B，最差的是 System D。", "B > D"),
        ("The best is A.", None),
        ("The best is A or B, and the worst is C.", None),
        ("The best is not A, and the worst is C.", None),
        ("System A is the best and System A is the worst.", None),
        ('{"q7": {"best": "A", "worst": "A"}}', None),
    ],
)
def test_free_text_counts_where_it_gives_both(said: str, value: str | None) -> None:
    (found,) = read_answers([question_of()], LLMReply(outcome="answered", text=said), FREE)
    assert getattr(found, "value", None) == value


@pytest.mark.parametrize(("size", "pairs"), [(2, 1), (3, 3), (4, 5), (6, 9)])
def test_a_page_implies_so_many_choices(size: int, pairs: int) -> None:
    """The best beats all others, and all others beat the worst; of the rest nothing is known."""
    labels = "ABCDEF"[:size]
    target = question_of(labels).target
    assert isinstance(target, BestWorstTarget)
    key = BlindingKey(assignment_id="a1", systems={one: one.lower() for one in labels}, blocks={})
    columns = list(target.columns)
    rows = [dict(zip(columns, row, strict=True)) for row in target.rows("B > A", key)]
    assert len(rows) == pairs
    wins = Counter(row["system_x"] if row["winner"] == "x" else row["system_y"] for row in rows)
    assert wins["b"] == size - 1
    assert wins["a"] == 0
    assert all(wins[one.lower()] == 1 for one in labels[2:])
    (missing,) = target.rows(None, key)
    assert missing[columns.index("winner")] is None
    assert [target.favour("B > A", one, None) for one in "BA"] == [1.0, 0.0]


def test_a_perfect_reader_names_the_true_ones() -> None:
    study = best_worst_study()
    ((assignment, key),) = drawn(study)
    form = build_form(study, outputs_of(study), assignment, key, TEXTS)
    truth = TrueUtilities(utilities={"zzgood": 1.0, "zzfair": 0.0, "zzpoor": -1.0}, item_sd=0, output_sd=0)
    given = SimulatedAnnotator(truth, PERFECT, rng=np.random.default_rng(1)).answers(form, key)
    for question in form.questions("everybody"):
        if isinstance(question.target, BestWorstTarget):
            best, worst = given[question.question_id].split(" > ")
            assert (key.systems[best], key.systems[worst]) == ("zzgood", "zzpoor")


def test_a_language_of_ones_own_need_not_word_it() -> None:
    own = ("best_worst", "extremes", "page.best", "page.worst", "page.of_output")
    texts = {key: text for key, text in TEXTS.entries.items() if not any(part in key for part in own)}
    assert load_texts("xx", texts).entries
    with pytest.raises(StudyError, match="best_worst_title"):
        load_texts("xx", texts).say("form.best_worst_title")


def test_the_example_runs_from_study_file_to_report(tmp_path: Path) -> None:
    """People and a simulated rater answer; the tables alone give the same counts and strengths."""
    done = CliRunner().invoke(main, ["demo", "--example", "best-worst", "--out", str(tmp_path), "--seed", "3"])
    assert done.exit_code == 0, done.output
    study = str(tmp_path / "study" / "study.toml")
    assert CliRunner().invoke(main, ["export", study, "--out", str(tmp_path / "tables")]).exit_code == 0
    table = pl.read_csv(tmp_path / "tables" / "choices.csv")
    assert set(table["elicitation"]) == {"best_worst"}
    pages = table.group_by("annotator_id", "assignment_id", "item_id").agg(pl.len())
    assert pages.height == 2 * 24 * 4
    assert set(pages["len"]) == {5}
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    counts = results["best_worst"]
    assert {row["group"] for row in counts} == {"simulated", "simulated-rater"}
    for group in ("simulated", "simulated-rater"):
        own = [row for row in counts if row["group"] == group]
        assert sum(row["best"] for row in own) == sum(row["worst"] for row in own) == 96
        assert sum(row["score"] * row["n"] for row in own) == pytest.approx(0.0, abs=1e-9)
    alone = ["report", "--choices", str(tmp_path / "tables" / "choices.csv"), "--json"]
    again = json.loads(CliRunner().invoke(main, alone).stdout)["best_worst"]
    named = [sorted((row["group"], row["system"], row["best"], row["worst"]) for row in one) for one in (again, counts)]
    assert named[0] == named[1]
    assert "best_worst.csv" in {path.name for path in (tmp_path / "report" / "tables").iterdir()}
    assert "Best and worst outputs" in (tmp_path / "report" / "report.md").read_text()
