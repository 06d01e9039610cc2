"""Every way of asking, and one that the product does not know: from the study file to pages, prompts and tables."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import spa
import spa.elicitation
import tests.toys
from spa.cli import main
from spa.elicitation import WAYS, WayOfAsking, ways
from spa.elicitation.assignment_json import assignment_from_json, assignment_to_json
from spa.elicitation.ratings import TurnTarget
from spa.forms.html import render_whole
from spa.forms.prompt import answer_format, render_prompt
from spa.forms.prompt_turns import turns_of
from spa.forms.texts import load_texts
from spa.records.assignment import Assignment, AssignmentLabels, BlindingKey
from spa.records.form import ExplanationTarget, Form, Judgement
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.records.submission import Response
from spa.responses.answer_rows import target_from_json, target_to_json
from spa.responses.answers import answer_schema, parse_answers
from spa.responses.tidy_tables import RARE, answer_tables
from spa.simulation.simulated_annotators import SimulatedAnnotator, Temperament
from spa.simulation.true_utilities import TrueUtilities, even_truth
from spa.study.load import load_study, study_fingerprint
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from tests.spa.forms.test_form_equality import check_one_form
from tests.spa.study_files import problems_of
from tests.spa.tiny_images import tiny_png
from tests.toys.thumbs import THUMBS

ALL = (*WAYS, THUMBS)
SYSTEMS = ("zzgood", "zzfair", "zzpoor")
PACKAGES = Path(spa.__file__).parents[1]
STUDY = """id = "asked"
title = "Asked"
[outputs]
files = ["outputs.jsonl"]
item_text = "prompt"
[[systems]]
id = "zzgood"
[[systems]]
id = "zzfair"
[[systems]]
id = "zzpoor"
[design]
items = 3
[people]
annotators = 6
"""
ASKED = {  # an empty table asks already, but there are few items, and options are a criterion's own
    "spa": "[spa]\nexposure = 2\n",
    "categories": '[[criteria]]\nid = "kind"\nname = "kind"\noptions = [{text = "bad", score = 0}, '
    '{text = "good", score = 1}]\n[categories]\n',
}
SURE = Temperament(noise_sd=0, taste_sd=0, severity_sd=0)  # who errs in nothing
Made = tuple[Study, Outputs, list[tuple[Assignment, BlindingKey]], list[Form]]
WORDS = {"spa", "spans", "choices"}  # words of others too: the package, pieces of traces, what a service could say
SHARED = {"spa.elicitation.ratings"}
CHOOSING = {  # these write a study for somebody, and so choose how it asks
    "spa/starting/names.py",
    "spa/starting/proposal.py",
    "spa/starting/writing.py",
    "spa/commands/review.py",
    "spa/importers/mturk/mapping.py",  # tables of a mapping of its own
    "spa/importers/surveyjs.py",  # a type of its questions
}


@pytest.fixture(params=ALL, ids=lambda way: way.key)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> WayOfAsking:
    """Return a way of asking that the product knows, the toy too."""
    monkeypatch.setattr(spa.elicitation, "WAYS", ALL)
    found: WayOfAsking = request.param
    return found


@pytest.fixture
def study_file(way: WayOfAsking, tmp_path: Path) -> Path:
    """Write a study that asks in this way alone."""
    rows = [
        {"item_id": f"i{item}", "system": system, "output": f"Text {item} of kind {place}.", "prompt": f"Ask {item}?"}
        for item in range(4)
        for place, system in enumerate(SYSTEMS)
    ]
    (tmp_path / "outputs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    path = tmp_path / "study.toml"
    path.write_text(STUDY + ASKED.get(way.key, f"[{way.key}]\n"), encoding="utf-8")
    return path


@pytest.fixture
def made(study_file: Path) -> Made:
    """Build the forms of four assignments."""
    study = load_study(study_file)
    outputs, texts = load_outputs(study), load_texts(study.language, study.texts)
    drawn = list(sample_assignments(study, outputs, count=4, rng=study_rng(study.seed)))
    return study, outputs, drawn, [spa.build_form(study, outputs, *each, texts) for each in drawn]


def test_section_is_of_the_way(way: WayOfAsking, made: Made) -> None:
    study, *_ = made
    assert list(study.sections) == [way.key]
    assert study.section(way.settings) is study.sections[way.key]
    assert study.criteria_of(way.key)
    assert len(study_fingerprint(study)) == 64


def test_unknown_key_is_one_line(way: WayOfAsking, study_file: Path) -> None:
    study_file.write_text(study_file.read_text() + "zzz = 1\n", encoding="utf-8")
    (problem,) = problems_of(study_file)
    assert re.search(rf"\[{way.key}\] zzz|{way.key}", problem)
    assert len(problem) < 500


def test_assignment_is_stored_whole(made: Made) -> None:
    for assignment, _ in made[2]:
        assert assignment_from_json(assignment_to_json(assignment)) == assignment


def test_draws_do_not_depend_on_how_many(made: Made) -> None:
    study, outputs, drawn, _ = made
    assert list(sample_assignments(study, outputs, count=2, rng=study_rng(study.seed))) == drawn[:2]


def test_page_and_prompt_ask_the_same(made: Made) -> None:
    for form in made[3]:
        assert list(form.questions("everybody"))
        check_one_form(form)


def test_no_system_is_named(made: Made) -> None:
    study, _, drawn, forms = made
    texts = load_texts(study.language, study.texts)
    for (assignment, _), form in zip(drawn, forms, strict=True):
        said = render_whole(form, texts) + str(render_prompt(form).parts) + assignment_to_json(assignment)
        assert not re.search("zz", said)


def test_simulated_person_answers_all(made: Made) -> None:
    truth = even_truth(SYSTEMS)
    for seed, ((_, key), form) in enumerate(zip(made[2], made[3], strict=True)):
        answers = SimulatedAnnotator(truth, rng=np.random.default_rng(seed)).answers(form, key)
        read = parse_answers(tuple(form.questions("people")), answers)
        assert all(isinstance(one, Response) for one in read)


def test_the_better_system_is_better_in_the_table(made: Made) -> None:
    """Who finds one system best and another worst says so in rows that mean it, whatever the way of asking."""
    truth = TrueUtilities(
        utilities=dict(zip(SYSTEMS, (2.4, 0.0, -2.4), strict=True)),
        item_sd=0,
        output_sd=0,
        criterion_sd=0,
        error_rate=0.4,
    )
    points: dict[str, dict[str, list[float]]] = {}  # by table and system, a number an answer
    for seed, ((_, key), form) in enumerate(zip(made[2], made[3], strict=True)):
        annotator = SimulatedAnnotator(truth, SURE, rng=np.random.default_rng(seed))
        labels = AssignmentLabels(systems=key.systems, positions={})
        for response in parse_answers(tuple(form.questions("everybody")), annotator.answers(form, key)):
            assert isinstance(response, Response)
            target = response.target
            assert isinstance(target, Judgement)
            said: dict[str, float] = {}
            for row in target.rows(response.value, labels):
                for system, better in _points(dict(zip(target.columns, row, strict=True))):
                    said[system] = said.get(system, 0.0) + better
            for system, better in said.items():
                points.setdefault(target.table, {}).setdefault(system, []).append(better)
    assert points
    for found in points.values():
        good, fair, poor = (np.mean(found[system]) for system in SYSTEMS)
        assert good >= fair >= poor
        assert good > poor


def _points(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield systems with how good a row of a tidy table calls them, as the reference of the tables explains it."""
    if "system_x" in row:
        for_x = row["preference"] if "preference" in row else {"x": 1.0, "y": 0.0, "tie": 0.5}[row["winner"]]
        yield from ((row["system_x"], for_x), (row["system_y"], 1 - for_x))
    elif "rank" in row:
        yield row["system"], -row["rank"]
    elif "weight" in row:
        yield row["system"], -(row["weight"] or 0.0) * len(row["text"] or "")
    elif "utility" in row:
        yield row["system"], row["utility"]
    elif "score" in row:
        yield row["system"], row["score"]


def test_each_turn_asks_for_its_answers(made: Made) -> None:
    texts = load_texts("en", {})
    for form in made[3]:
        asked = [question.question_id for turn in turns_of(form, "question") for question in turn.questions]
        assert sorted(asked) == sorted(question.question_id for question in form.questions("everybody"))
        for turn in turns_of(form, "page"):
            properties = answer_schema(turn.questions)["properties"]
            assert list(properties) == [question.question_id for question in turn.questions]
            assert all(name in answer_format(turn.questions, texts) for name in properties)


def test_images_are_asked_about_or_refused(way: WayOfAsking, study_file: Path) -> None:
    """Page and prompt ask the same of pictures as of texts, and name no system; or one line says why not."""
    rows = [json.loads(line) for line in (study_file.parent / "outputs.jsonl").read_text().splitlines()]
    for number, row in enumerate(rows):
        row["output"] = f"{number}.png"
        (study_file.parent / row["output"]).write_bytes(tiny_png(number))
    (study_file.parent / "outputs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    study_file.write_text(study_file.read_text().replace("[outputs]\n", '[outputs]\nkind = "image"\n'))
    if way.key == "spans":
        (problem,) = problems_of(study_file)
        assert "[spans]: expected text outputs" in problem
        return
    study = load_study(study_file)
    outputs, texts = load_outputs(study), load_texts(study.language, study.texts)
    for assignment, key in sample_assignments(study, outputs, count=2, rng=study_rng(study.seed)):
        form = spa.build_form(study, outputs, assignment, key, texts)
        check_one_form(form)
        assert all(one.medium == "image" for page in form.pages for one in page.outputs)
        assert not re.search("zz", render_whole(form, texts) + str(render_prompt(form).question_ids))


def test_target_is_stored_whole(way: WayOfAsking, made: Made) -> None:
    targets = {question.target for form in made[3] for question in form.questions("everybody")}
    about = {type(one) for one in targets if not isinstance(one, ExplanationTarget)}
    assert about == set(way.judgements) - {TurnTarget}  # asked where turns are rated
    for target in targets:
        assert target_from_json(target_to_json(target)) == target


def test_rows_fit_the_columns(made: Made) -> None:
    for (_, key), form in zip(made[2], made[3], strict=True):
        labels = AssignmentLabels(systems=key.systems, positions={})
        for question in form.questions("everybody"):
            target = question.target
            assert isinstance(target, Judgement)
            assert all(len(row) == len(target.columns) for row in target.rows(None, labels))
            assert target.table in answer_tables()
            if (outputs := target.outputs()) is not None:
                assert {label for label, _, _ in outputs} <= key.systems.keys()


def test_from_file_to_report(way: WayOfAsking, study_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person and a model answer, what they answered is exported as it was, and a report says it."""
    monkeypatch.chdir(study_file.parent)

    def run(*words: str) -> str:
        done = CliRunner().invoke(main, list(words), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    rater = '[[raters]]\nid = "gpt"\nmodel = "m"\nprovider = "chat"\n'
    study_file.write_text(study_file.read_text() + rater, encoding="utf-8")
    assert way.key in run("check", "study.toml")
    run("build", "study.toml")
    run("simulate", "study.toml")
    run("rate", "study.toml", "--simulate", "--limit", "2")
    run("export", "study.toml", "--rehearsal", "--out", "tables")
    for judgement in way.judgements:
        table = pl.read_csv(Path("tables") / f"{judgement.table}.csv")
        own = [name for name in judgement.columns if name in table.columns]
        assert own == [name for name in judgement.columns if name not in RARE]
        assert set(table["annotator_kind"]) == {"human", "llm"} or set(table["annotator_kind"]) == {"simulated", "llm"}
        assert table["missing_reason"].null_count() == table.height
    run("report", "study.toml", "--rehearsal", "--out", "report")
    report = (Path("report") / "report.html").read_text(encoding="utf-8")
    assert all(system in report for system in SYSTEMS)


def test_only_its_room_names_a_way() -> None:
    """No other module names a way's key or table, or imports its module; what is public leads through the registry."""
    members = {one.settings.__module__ for one in WAYS}
    keys = {one.key for one in WAYS} - WORDS
    tables = re.compile(rf"\[({'|'.join(one.key for one in WAYS)})\]")
    found = []
    for path in sorted((PACKAGES / "spa").rglob("*.py")):
        place = path.relative_to(PACKAGES).as_posix()
        if place.startswith("spa/elicitation/") or place in CHOOSING:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                if node.value in keys or tables.search(node.value):
                    found.append(f"{place}:{node.lineno}: {node.value}")
            elif isinstance(node, ast.ImportFrom) and node.module in members and node.module not in SHARED:
                found.append(f"{place}:{node.lineno}: {node.module}")
    assert found == []


def test_order_is_that_of_the_registry() -> None:
    assert list(ways()) == [one.key for one in WAYS]
    assert len({one.settings.way for one in WAYS}) == len(WAYS)


def test_recipe_names_what_the_toys_bring() -> None:
    """A way of asking is one module, an answer widget one with template, style and script; nothing else of spa."""
    recipe = (Path(__file__).resolve().parents[3] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    parts = dict(re.findall(r"^\| (way of asking|widget) \| (`spa/[^|]*) \|$", recipe, flags=re.M))
    toys = Path(tests.toys.__file__).parent
    for part, toy in (("way of asking", "thumbs"), ("widget", "star_rating")):
        named = re.findall(r"`([\w/.]+)`", parts[part])
        assert sorted(Path(one).suffix for one in named) == sorted(one.suffix for one in toys.glob(f"{toy}.*"))
        room = PACKAGES / Path(named[0]).parent
        assert all((room / Path(one).name).is_file() for one in named)
