"""Outputs put in order: drawn in balance, asked alike of people and LLMs, read strictly, exported and imported."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from spa.cli import main
from spa.elicitation.assignment_json import assignment_from_json, assignment_to_json
from spa.elicitation.ranking import RankingTarget
from spa.errors import StudyError
from spa.forms.build import build_form
from spa.forms.html import PageState, render_page
from spa.forms.prompt import answer_format, render_prompt
from spa.forms.prompt_turns import turns_of
from spa.forms.texts import load_texts
from spa.raters.endpoints.endpoint import LLMReply
from spa.raters.reading import read_answers
from spa.records.assignment import Assignment, BlindingKey
from spa.records.form import AnswerOption, ExhibitsBlock, ExplanationTarget, Form, Page, Question
from spa.records.raters import RaterProtocol
from spa.records.study import Study
from spa.records.submission import Missing, Response
from spa.responses.answer_rows import target_from_json, target_to_json
from spa.responses.answers import answer_schema, parse_answer, parse_answers, unknown_keys
from spa.simulation.simulated_annotators import PERFECT, SimulatedAnnotator
from spa.simulation.survey_client import fill_in, read_page
from spa.simulation.true_utilities import TrueUtilities
from spa.study.sampling import sample_assignments, study_rng
from spa.study.validation import validate_study
from spa.widgets import OrderAnswer
from spa.widgets.order import OrderWidget, order_of, ranks_of
from tests.strategies import outputs_of, small_study

TEXTS = load_texts("en", {})
UTILITIES = {"zzgood": 1.0, "zzfair": 0.0, "zzpoor": -1.0}


def ranking_study(**tables: Any) -> Study:
    return small_study(**{"spa": None, "ranking": {}, "design": {"items": 2}, **tables})


def drawn(study: Study, count: int = 1) -> list[tuple[Assignment, BlindingKey]]:
    return list(sample_assignments(study, outputs_of(study), count=count, rng=study_rng(study.seed)))


def form_of(study: Study) -> tuple[Form, BlindingKey]:
    ((assignment, key),) = drawn(study)
    return build_form(study, outputs_of(study), assignment, key, TEXTS), key


def asked(form: Form) -> list[tuple[Page, Question]]:
    return [(page, one) for page in form.pages for one in page.questions if isinstance(one.target, RankingTarget)]


def question_of(labels: str = "ABC") -> Question:
    return Question(
        question_id="q7",
        text="Put the texts in order.",
        answer=OrderAnswer(options=tuple(AnswerOption(value=one, text=f"System {one}") for one in labels)),
        target=RankingTarget(labels=tuple(labels), item_id="i1", samples=(1,) * len(labels), criterion="overall"),
    )


@pytest.mark.parametrize("labels", ["counterbalanced", "fixed"])
def test_each_system_has_every_place_equally_often(labels: str) -> None:
    places: Counter[tuple[str, int]] = Counter()
    for assignment, key in drawn(ranking_study(design={"items": 2, "labels": labels}), count=9):
        assert assignment_from_json(assignment_to_json(assignment)) == assignment
        for outputs in assignment.groups_of("ranking"):
            assert len({output.item_id for output in outputs}) == 1
            places.update((key.systems[output.label], place) for place, output in enumerate(outputs))
    assert set(places.values()) == {6}


def test_of_several_systems_some_are_ranked_each_equally_often() -> None:
    study = ranking_study(ranking={"size": 2})
    ranked = Counter(
        key.systems[output.label]
        for assignment, key in drawn(study, count=9)
        for outputs in assignment.groups_of("ranking")
        for output in outputs
    )
    assert set(ranked.values()) == {12}


def test_other_studies_are_drawn_and_stored_as_before() -> None:
    assert "rankings" not in assignment_to_json(drawn(small_study())[0][0])


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ({"ranking": {"size": 4}}, "[ranking] size: expected at most the 3 systems, got 4"),
        ({"spa": {"exposure": 2, "same_items": False}}, "[spa] same_items: expected true beside [ranking]"),
        (
            {"stopping": {"rule": "when_decided"}, "choices": {}},
            '[stopping] rule = "when_decided": expected [ranking] without another section that compares, got [choices]',
        ),
        ({"choices": {"per_annotator": 2}}, "[choices] per_annotator: expected no other section"),
        ({"ranking": {"overall": False}}, "[ranking]: expected something to ask, got no criterion"),
    ],
)
def test_what_cannot_be_is_refused(tables: dict[str, Any], problem: str) -> None:
    found = [each.message for each in validate_study(ranking_study(**tables))]
    assert any(problem in text for text in found), found


def test_one_output_is_no_order() -> None:
    with pytest.raises(ValueError, match="greater than or equal to 2"):
        ranking_study(ranking={"size": 1})


def test_a_page_shows_and_offers_the_outputs_in_one_order() -> None:
    form, _ = form_of(ranking_study())
    assert len(asked(form)) == 2
    for page, question in asked(form):
        (shown,) = [block for block in page.blocks if isinstance(block, ExhibitsBlock)]
        assert isinstance(question.answer, OrderAnswer)
        assert isinstance(question.target, RankingTarget)
        labels = tuple(exhibit.label for exhibit in shown.exhibits)
        assert labels == question.target.labels == tuple(option.value for option in question.answer.options)
        assert target_from_json(target_to_json(question.target)) == question.target


def test_ranking_prompt_shows_its_outputs_alone() -> None:
    """A prompt asks for ranks and shows the outputs of a question alone."""
    form, _ = form_of(ranking_study())
    (page, question), *_ = asked(form)
    text = render_prompt(form).chat_messages(answer_format([question], TEXTS))[0]["content"]
    assert '- "A": System A' in text
    assert f'"{question.question_id}": an object with the keys' in text
    turn = next(turn for turn in turns_of(form, "question") if turn.questions == (question,))
    assert [block for block in turn.pages[-1].blocks if isinstance(block, ExhibitsBlock)] == [
        block for block in page.blocks if isinstance(block, ExhibitsBlock)
    ]


def test_an_llm_may_be_asked_to_explain_its_order() -> None:
    study = ranking_study()
    ((assignment, key),) = drawn(study)
    form = build_form(study, outputs_of(study), assignment, key, TEXTS, RaterProtocol(explain="before"))
    explained = [one.target for one in form.questions("everybody") if isinstance(one.target, ExplanationTarget)]
    assert [target.of for target in explained] == [one.target for _, one in asked(form)]
    assert [target_from_json(target_to_json(target)) for target in explained] == explained


def test_ranking_without_script() -> None:
    """What a browser without script sends is read and shown again."""
    form, _ = form_of(ranking_study())
    page, question = asked(form)[0]
    served = read_page(render_page(form, page, TEXTS)).form
    assert served is not None
    sent = fill_in(served, form, {question.question_id: "B > A = C"})
    assert sent == {f"{question.question_id}-{label}": rank for label, rank in zip("ABC", "212", strict=True)}
    assert unknown_keys(page.questions, sent) == ()
    (answer,) = parse_answers(page.questions, sent)
    assert isinstance(answer, Response)
    assert ranks_of(str(answer.value)) == {"B": 1, "A": 2, "C": 2}
    again = render_page(form, page, TEXTS, state=PageState(answers=sent))
    assert f'name="{question.question_id}-A" data-low="1" data-high="3" value="2"' in again


RANKS = st.dictionaries(st.just("A") | st.just("B") | st.just("C"), st.integers(1, 3), min_size=3)


@given(RANKS)
def test_every_answer_that_the_schema_allows_is_an_order(ranks: dict[str, int]) -> None:
    question = question_of()
    schema = answer_schema([question])["properties"]["q7"]
    assert set(schema["properties"]) == set(schema["required"]) == set(ranks)
    answer = parse_answer(question, ranks)
    assert isinstance(answer, Response)
    found = ranks_of(str(answer.value))
    for x, y in permutations(ranks, 2):
        assert (found[x] < found[y]) == (ranks[x] < ranks[y])
    assert order_of({label: found[label] for label in "ABC"}) == answer.value
    sent = OrderWidget().sends(question.answer, question.question_id, str(answer.value))
    assert parse_answers([question], sent)[0].raw is not None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "no answer"),
        ({"A": "", "B": " ", "C": ""}, "no answer"),
        ({"A": 1, "B": 2}, "expected a rank from 1 to 3 for C, got none"),
        ({"A": 1, "B": 2, "C": 4}, "for C, got 4"),
        ({"A": 1, "B": 2, "C": 2.5}, "for C, got 2.5"),
        ({"A": 1, "B": 2, "C": True}, "for C, got true"),
        ({"A": 1, "B": 2, "C": 3, "D": 4}, "expected a rank for each of A, B, C"),
        (["A", "B", "C"], "expected a rank for each"),
        ("A > B", "each once"),
        ("A > B > B", "each once"),
        ("A > B > C > A", "each once"),
        ("A B C", "each once"),
        (">", "each once"),
        ("7", "each once"),
    ],
)
def test_no_order_is_made_up(raw: object, reason: str) -> None:
    answer = parse_answer(question_of(), raw)
    assert isinstance(answer, Missing)
    assert reason in answer.reason


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("System B > System A = System C", "B > A = C"),
        ("My answer is B > C > A.", "B > C > A"),
        ('{"q7": {"A": 2, "B": 1, "C": 3}}', "B > A > C"),
        ("1. System C\n2. System A - weaker\n3. System B", "C > A > B"),
        ("**A > B > C**, since A is vivid.", "A > B > C"),
        ("System A is best, then System B.", None),
        ("A > B", None),
        ("A > B > C, or rather B > A > C", None),
        ("It is not the case that A > B > C.", None),
        ("1. System C\n2. System A\n2. System B", None),
        ("A > B > C > D", None),
        ("I cannot judge this.", None),
        ('{"q7": {"A": 2, "B": 1}}', None),
    ],
)
def test_free_text_is_read_strictly(reply: str, expected: str | None) -> None:
    protocol = RaterProtocol(conversation="question", answer_format="text")
    (answer,) = read_answers([question_of()], LLMReply(text=reply, outcome="answered"), protocol)
    assert (answer.value if isinstance(answer, Response) else None) == expected
    assert answer.raw == reply


def test_simulated_ranking_by_true_utility() -> None:
    """Simulated annotators rank by true utility and tie what is hardly worse."""
    study = ranking_study()
    form, key = form_of(study)
    truth = TrueUtilities(utilities=UTILITIES, item_sd=0, output_sd=0)
    for temperament, expected in ((PERFECT, "zzgood > zzfair > zzpoor"), (None, None)):
        annotator = SimulatedAnnotator(truth, temperament, rng=np.random.default_rng(1))
        for _, question in asked(form):
            given = annotator.answers(form, key)[question.question_id]
            assert isinstance(parse_answer(question, given), Response)
            if expected:
                assert " > ".join(key.systems[label] for label in ranks_of(given)) == expected
    close = TrueUtilities(utilities={"zzgood": 1.0, "zzfair": 0.99, "zzpoor": -1.0}, item_sd=0, output_sd=0)
    tied = PERFECT.model_copy(update={"tie_width": 0.2})
    given = SimulatedAnnotator(close, tied, rng=np.random.default_rng(1)).answers(form, key)
    assert all(sorted(ranks_of(given[one.question_id]).values()) == [1, 1, 3] for _, one in asked(form))


def test_the_example_runs_from_its_study_file_to_its_tables(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["demo", "--example", "rankings", "--out", str(tmp_path), "--seed", "3"])
    assert done.exit_code == 0, done.output
    study = str(tmp_path / "study" / "study.toml")
    done = CliRunner().invoke(main, ["export", study, "--out", str(tmp_path / "tables")])
    assert done.exit_code == 0, done.output
    table = pl.read_csv(tmp_path / "tables" / "orders.csv")
    orderings = table.group_by("annotator_id", "assignment_id", "item_id", maintain_order=True).agg(
        "position", "rank", "system"
    )
    assert orderings.height == 2 * 24 * 4
    for row in orderings.iter_rows(named=True):
        assert row["position"] == [1, 2, 3, 4]
        assert len(set(row["system"])) == 4
        shared = sorted(row["rank"])
        assert shared[0] == 1
        assert all(later == earlier or later == place for place, (earlier, later) in enumerate(pairwise(shared), 2))
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert {row["group"] for row in results["orders"]} == {"simulated", "simulated-rater"}
    alone = ["report", "--orders", str(tmp_path / "tables" / "orders.csv"), "--json"]
    again = json.loads(CliRunner().invoke(main, alone).stdout)
    assert {row["system"]: row["strength"] for row in again["order_strengths"]} == pytest.approx(
        {row["system"]: row["strength"] for row in results["order_strengths"]}
    )


MAP = """
annotator = "judgeID"
item = "segmentId"
[[questions]]
column = "system1rank"
kind = "rank"
system_column = "system1Id"
values = { "-1" = "" }
[[questions]]
column = "system2rank"
kind = "rank"
system_column = "system2Id"
"""


def test_ranks_of_a_shared_task_are_imported(tmp_path: Path) -> None:
    (tmp_path / "import.toml").write_text(MAP)
    rows = ["judgeID,segmentId,system1Id,system1rank,system2Id,system2rank"]
    rows += ["ann,1,online-A,1,uedin,2", "ann,2,uedin,-1,online-B,1", "bob,1,online-A,2,online-B,2"]
    (tmp_path / "wmt.csv").write_text("\n".join(rows))
    arguments = ["import", "csv", str(tmp_path / "wmt.csv"), "--map", str(tmp_path / "import.toml")]
    done = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path), "--keep-ids"])
    assert done.exit_code == 0, done.output
    found = pl.read_csv(tmp_path / "orders.csv").select("annotator_id", "item_id", "system", "rank").rows()
    assert found[:3] == [("ann", 1, "online-A", 1), ("ann", 1, "uedin", 2), ("ann", 2, "uedin", None)]
    again = ["ann,1,online-A,1,online-B,2", "ann,1,online-B,1,uedin,1"]  # one segment, other systems
    (tmp_path / "wmt.csv").write_text("\n".join([*rows, *again]))
    assert CliRunner().invoke(main, [*arguments, "--out", str(tmp_path), "--keep-ids"]).exit_code == 0
    assert pl.read_csv(tmp_path / "orders.csv")["repeat"].to_list() == [None] * 6 + [2, 2, 3, 3]
    report = ["report", "--orders", str(tmp_path / "orders.csv"), "--out", str(tmp_path / "report"), "--json"]
    found = json.loads(CliRunner().invoke(main, report).output)
    assert (found["orders"][0]["n_orderings"], found["exclusions"]) == (4, [])
    (tmp_path / "wmt.csv").write_text("\n".join([rows[0], "ann,1,online-A,0,uedin,2"]))
    done = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path)])
    assert "row 2, system1rank: expected a rank from 1, the best, got '0'" in done.output


def test_a_language_of_ones_own_need_not_word_rankings() -> None:
    texts = {key: text for key, text in TEXTS.entries.items() if "ranking" not in key and "order" not in key}
    del texts["form.prompt_ranks"]
    assert load_texts("xx", texts).entries
    with pytest.raises(StudyError, match="ranking_title"):
        load_texts("xx", texts).say("form.ranking_title")
