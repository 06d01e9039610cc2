"""``spa init --outputs``: from files as people have them to a form."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from spa.commands.workspace import open_workspace
from spa.elicitation.spa import Spa
from spa.server.app import create_app
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from tests.spa.output_shapes import (
    PROMPTS,
    SHAPES,
    SYSTEMS,
    TEXTS,
    WORDS,
    long_rows,
    wide_rows,
    write_csv,
    write_lines,
)
from tests.spa.small_study import raw_answer
from tests.spa.started_studies import answers_of, spa, started


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_becomes_a_study_that_people_can_answer(tmp_path: Path, shape: str) -> None:
    folder = tmp_path / "study"
    facts = started(folder, *SHAPES[shape](tmp_path))
    assert facts["overview"]["problems"] == []
    assert facts["overview"]["asked"] == {"spa": ["overall"]}
    assert len(facts["overview"]["systems"]) == 3
    assert facts["overview"]["items"] == 8
    assert spa("check", folder).exit_code == 0
    assert spa("build", folder).exit_code == 0
    with open_workspace(folder / "study.toml") as workspace, TestClient(create_app(workspace)) as client:
        token = workspace.store.tokens()[0]
        assert client.post(f"/a/{token}").status_code == 200
        lease = workspace.store.visits.of_token(token)
        assert lease is not None
        for instructions in workspace.form(lease.assignment_id).pages[:2]:
            fields = {question.question_id: raw_answer(question) for question in instructions.questions}
            page = client.post(f"/a/{token}/p/{instructions.page_id}", data=fields).text
    assert any(text in page for text in TEXTS.values())
    assert not any(system in page for system in SYSTEMS)


def test_new_studies_declare_rules_of_carelessness(tmp_path: Path) -> None:
    """Outputs of one's own, and the examples that people begin with; not those that follow a paper."""
    started(tmp_path / "own", *SHAPES[next(iter(SHAPES))](tmp_path))
    declared = {}
    for example in ("stories", "zh", "ar", "chhun"):
        spa("init", tmp_path / example, "--example", example)
    for name in ("own", "stories", "zh", "ar", "chhun"):
        plan = load_study(tmp_path / name / "study.toml").analysis
        declared[name] = (plan.max_reading_speed, plan.max_same_answers, plan.usual_answer)
    assert declared == dict.fromkeys(("own", "stories", "zh", "ar"), (2.6, 0.95, 0.5)) | {"chhun": (None, None, None)}


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "folder"])
def test_the_shape_of_a_file_makes_no_other_study(tmp_path: Path, shape: str) -> None:
    started(tmp_path / "study", *SHAPES[shape](tmp_path))
    slashed = {"gamma-3": "gamma/3"}  # a file's name holds no slash
    expected = {(PROMPTS[item], system, text) for (item, system), text in TEXTS.items()}
    assert {(p, slashed.get(s, s), t) for p, s, t in answers_of(tmp_path / "study")} == expected


def test_starting_ignores_row_order_and_system_names(tmp_path: Path) -> None:
    """The order of rows and the names of systems make no other study."""
    rows = long_rows()
    started(tmp_path / "a", write_csv(tmp_path / "a.csv", rows))
    names = dict(zip(SYSTEMS, ("zeta", "alpha-1", "模型"), strict=True))
    shuffled = [{**row, "model": names[str(row["model"])]} for row in rows]
    random.Random(3).shuffle(shuffled)
    started(tmp_path / "b", write_csv(tmp_path / "b.csv", shuffled))
    renamed = {(prompt, names[system], text) for prompt, system, text in answers_of(tmp_path / "a")}
    assert answers_of(tmp_path / "b") == renamed
    first, second = (load_study(tmp_path / name / "study.toml") for name in "ab")
    assert first.section(Spa) == second.section(Spa)


def test_starting_says_what_was_taken_and_left_out(tmp_path: Path) -> None:
    """What was taken for what and what was left out is a line each."""
    facts = started(tmp_path / "a", write_csv(tmp_path / "long.csv", long_rows()))
    assert facts["took"] == [
        "system: column model (3 systems: alpha-1, beta 2, gamma/3)",
        "item: column id (8 items)",
        "output: column response (texts of 51 characters on average)",
        "prompt: column prompt",
    ]
    assert facts["left_out"] == ["other columns: 2 (latency, tokens)"]
    facts = started(tmp_path / "b", write_csv(tmp_path / "wide.csv", wide_rows()))
    assert facts["took"][0] == "system: a column each (3 systems: alpha-1, beta 2, gamma/3)"
    assert facts["took"][4:] == ["references for metrics: column reference"]
    assert facts["left_out"] == ["other columns: 1 (category)", "an index without a name"]
    outputs = load_outputs(load_study(tmp_path / "b" / "study.toml"))
    assert outputs.references["1"] == ("A person sings of river as well.",)


def test_hostile_words_stay_what_they_are(tmp_path: Path) -> None:
    names = dict(zip(SYSTEMS, ('[systems]\nid = "x"', "/etc/passwd", "NaN"), strict=True))
    rows = [
        {
            "''' [outputs]": f"item\n{row['id']}",
            "model": names[str(row["model"])],
            "response": f"<script>alert(1)</script>\x07 {row['response']}",
        }
        for row in long_rows()
    ]
    folder = tmp_path / "study"
    facts = started(folder, write_lines(tmp_path / "x.jsonl", rows), "--item", "''' [outputs]")
    assert facts["overview"]["systems"] == ['[systems] id = "x"', "etc/passwd", "system NaN"]
    assert [one.name for one in load_study(folder / "study.toml").systems] == [None, "/etc/passwd", "NaN"]
    assert facts["overview"]["items"] == 8
    assert "'/etc/passwd' is etc/passwd" in facts["caveats"][0]
    assert all("<script>" in text and "\x07" in text for _, _, text in answers_of(folder))


def test_names_that_would_be_one_id_stay_apart(tmp_path: Path) -> None:
    names = dict(zip(SYSTEMS, ("/a", "a", "//a"), strict=True))
    rows = [{**row, "model": names[str(row["model"])]} for row in long_rows()]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert sorted(facts["overview"]["systems"]) == ["a", "a-2", "a-3"]


@pytest.mark.parametrize(
    ("systems", "words", "way"),
    [(3, 40, "spa"), (7, 10, "chain"), (7, 200, "choices"), (12, 10, "choices"), (3, 900, "choices")],
)
def test_starting_form_fits_systems_and_lengths(tmp_path: Path, systems: int, words: int, way: str) -> None:
    """The form fits the number of systems and the length of texts."""
    rows = [
        {"id": item, "model": f"m{k}", "text": f"{item} " + " ".join([WORDS[k % 10]] * words)}
        for item in range(12)
        for k in range(systems)
    ]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    study = load_study(tmp_path / "a" / "study.toml")
    spa = study.section(Spa)
    assert (spa and spa.comparisons) == {"spa": "all", "chain": "chain", "choices": None}[way]
    assert study.deals_pairs == (way == "choices")
    assert facts["overview"]["minutes"] < 20
    assert 8 < float(facts["overview"]["hourly_pay"]) < 20


def test_few_items_are_chosen_between(tmp_path: Path) -> None:
    rows = [row for row in long_rows() if row["id"] in ("q0", "q1")]
    started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert load_study(tmp_path / "a" / "study.toml").deals_pairs
    rows = [row for row in long_rows() if row["id"] in ("q0", "q1", "q2")]
    started(tmp_path / "b", write_csv(tmp_path / "y.csv", rows))
    assert load_study(tmp_path / "b" / "study.toml").section(Spa)


def test_starting_form_in_language_of_texts(tmp_path: Path) -> None:
    """The form is in the language of the texts where it is ours."""
    texts = {
        "zh": "这是一个很长的故事，关于河流和光。",
        "ar": "هذه قصة طويلة عن النهر والنور.",
        "en": "Это рассказ о реке.",
    }
    for language, text in texts.items():
        rows = [{"id": n, "model": m, "text": f"{text} {n} {m}"} for n in range(6) for m in "ab"]
        started(tmp_path / language, write_csv(tmp_path / f"{language}.csv", rows))
        assert load_study(tmp_path / language / "study.toml").language == language


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "x.csv", long_rows())
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "study.toml").write_text("mine", encoding="utf-8")
    result = spa("init", tmp_path / "a", "--outputs", file, "--yes")
    assert result.exit_code == 1
    assert "it is not overwritten" in result.stderr
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["study.toml"]
