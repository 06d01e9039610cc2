"""The ways of asking that papers used, as the files that ship: each loads, fits the stories and runs."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from spa.commands.rating import rater_of_file
from spa.commands.workspace import open_workspace
from spa.records.raters import RaterVariant, rater_variants
from spa.responses.export import export_tables
from spa.responses.tidy_tables import Tables
from spa.study.load import load_study
from tests.spa.rehearsed import built_example, spa

FOLDER = Path(str(files("spa.examples"))) / "raters"
STORIES = FOLDER.parent / "stories" / "study.toml"


def ways_of(name: str) -> dict[str | None, RaterVariant]:
    rater = rater_of_file(FOLDER / f"{name}.toml", load_study(STORIES))
    return {asked.variant: asked for asked in rater_variants(rater)}


def test_chiang_and_lee_asked_each_question_alone_three_times() -> None:
    """Section 3.2: three samples at p = 0.9; 3.3.2: persona, explanation; Table 3: T = 1, 0.7, 0.3 and 0."""
    ways = ways_of("chiang-lee")
    assert sorted(one.protocol.temperature for one in ways.values()) == [0, 0.3, 0.7, 1, 1, 1]
    for asked in ways.values():
        protocol = asked.protocol
        assert (protocol.top_p, protocol.repeats, protocol.conversation) == (0.9, 3, "question")
        assert (protocol.answer_format, protocol.reading, protocol.readout) == ("text", "paper", "verbalised")
    changed = {name for name, asked in ways.items() if not asked.identical}
    assert changed == {"persona", "explain"}
    persona, explain = ways["persona"].protocol, ways["explain"].protocol
    assert persona.persona_place == "user"
    assert (persona.persona or "").startswith("(You are a human worker")
    assert (explain.explain, explain.explain_words) == ("after", "Please also explain your decision.")


def test_chiang_and_lee_asked_chatgpt_in_one_conversation() -> None:
    """Appendix D.2.2: the questions about a story one after another; asked again until there is a rating."""
    (asked,) = ways_of("chiang-lee-chat").values()
    protocol = asked.protocol
    assert asked.identical
    assert (protocol.conversation, protocol.answer_format, protocol.reading) == ("page_questions", "text", "paper")
    assert (protocol.repeats, protocol.attempts) == (1, 10)


def test_chhun_et_al_used_four_prompts_three_times() -> None:
    """Section 3.1: rating; with explanation; with guidelines too; with a reference story instead."""
    ways = {name: asked.protocol for name, asked in ways_of("chhun").items()}
    added = {
        name: (protocol.explain, protocol.guidelines is not None, protocol.reference is not None)
        for name, protocol in ways.items()
    }
    assert added == {
        "rating": ("no", False, False),
        "explanation": ("after", False, False),
        "guidelines": ("after", True, False),
        "reference": ("after", False, True),
    }
    assert {protocol.repeats for protocol in ways.values()} == {3}


def test_sottana_et_al_repeated_until_the_json_was_valid() -> None:
    """Appendix B.1; the paper names no limit, ten is ours."""
    ways = ways_of("sottana")
    assert [(one.protocol.answer_format, one.protocol.attempts, one.identical) for one in ways.values()] == [
        ("json", 10, True)
    ]


@pytest.mark.parametrize(("name", "ways"), [("chiang-lee", 6), ("chiang-lee-chat", 1), ("chhun", 4), ("sottana", 1)])
def test_each_runs_through_the_simulated_endpoint(tmp_path: Path, name: str, ways: int) -> None:
    study = built_example(tmp_path, annotators=1, exposure=2)
    rated = json.loads(spa("rate", study, "--rater", FOLDER / f"{name}.toml", "--simulate", "--json").output)
    repeats = 1 if name in ("sottana", "chiang-lee-chat") else 3
    assert (rated["finished"], rated["missing"]) == (ways * repeats, {})
    tables = tables_of(study)
    for table in (tables.preferences, tables.ratings):
        per_way = Counter(table["variant"].to_list())
        assert len(per_way) == ways
        assert len(set(per_way.values())) == 1
        assert table["repeat"].unique().to_list() in ([None], [1], [1, 2, 3])
    explained = {row["variant"] for row in tables.ratings.to_dicts() if row["explanation"] is not None}
    assert explained == {"chiang-lee": {"explain"}, "chhun": {"explanation", "guidelines", "reference"}}.get(
        name, set()
    )
    forms = {(row["variant"], row["form"]) for row in tables.ratings.to_dicts()}
    assert {variant for variant, form in forms if form == "variant"} == explained | (
        {"persona"} if name == "chiang-lee" else set()
    )


def test_free_text_and_json_say_the_same(tmp_path: Path) -> None:
    """The simulated rater says the same in words and as JSON, so that what differs was misread."""
    ways = {
        "text": 'conversation = "question"\nanswer_format = "text"\n',
        "json": 'conversation = "form"\nanswer_format = "json"\n',
        "schema": 'conversation = "page"\n',
    }
    plain = []
    for name, protocol in ways.items():
        (tmp_path / name).mkdir()
        study = built_example(tmp_path / name, annotators=1, exposure=2)
        file = tmp_path / f"{name}.toml"
        file.write_text(f'id = "one"\nmodel = "simulated-rater"\nrepeats = 2\n{protocol}', encoding="utf-8")
        spa("rate", study, "--rater", file, "--simulate", "--json")
        rows = tables_of(study).ratings.to_dicts()
        plain.append(sorted((row["repeat"], row["item_id"], row["system"], row["score"]) for row in rows))
    assert len(plain[0]) > 4
    assert plain[0] == plain[1] == plain[2]


def test_rater_file_name_not_for_simulated_answers(tmp_path: Path) -> None:
    """A rater of a file never lends its name to simulated answers."""
    study = built_example(tmp_path, annotators=1)
    file = tmp_path / "mine.toml"
    file.write_text('id = "mine"\nmodel = "some-llm"\n', encoding="utf-8")
    assert "never stored under the name of an LLM" in spa("rate", study, "--rater", file, "--simulate", code=1).output


def test_a_new_study_of_stories_brings_them(tmp_path: Path) -> None:
    spa("init", tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "new" / "raters").iterdir()) == [
        "chhun.toml",
        "chiang-lee-chat.toml",
        "chiang-lee.toml",
        "sottana.toml",
    ]
    for paper in ("chiang-lee", "sottana", "chhun"):
        spa("init", tmp_path / paper, "--example", paper)
        raters = sorted((tmp_path / paper / "raters").iterdir())
        assert [one.name for one in raters] == [*(["chiang-lee-chat.toml"] * (paper == "chiang-lee")), f"{paper}.toml"]
        spa("build", tmp_path / paper)
        for rater in raters:
            told = spa("rate", tmp_path / paper, "--rater", rater, "--simulate", "--dry-run").output
            assert "forms to answer" in told
    spa("init", tmp_path / "chinese", "--example", "zh")
    assert not (tmp_path / "chinese" / "raters").exists()


def tables_of(study: Path) -> Tables:
    with open_workspace(study, rehearsal=True, read_only=True) as workspace:
        return export_tables(workspace.store)
