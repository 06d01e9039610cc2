"""The example studies load and run, and the reference of the study file is complete."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import spa.examples
from analysis.results.files import from_plain
from analysis.verification.claims import WORDS
from spa.cli import main
from spa.commands.init import EXAMPLES as NAMES
from spa.commands.init import PAPERS, write_example
from spa.elicitation import ways
from spa.records.raters import Variant
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.study.schema_errors import study_tables
from tests.analysis.figures.walked import broken
from tests.analysis.verification.in_process import Unasked
from tests.study_schema import AS_THERE, reference_rows

EXAMPLES = Path(spa.examples.__file__).parent
assert {path.parent.name for path in EXAMPLES.glob("*/study.toml")} == set(NAMES)
STUDIES = sorted(
    path for path in EXAMPLES.rglob("*.toml") if path.parent.name != "raters" and path.name != "truth.toml"
)
REFERENCE = Path(__file__).parents[3] / "docs" / "study-file.md"


def test_every_way_of_asking_stands_in_an_example() -> None:
    asked = {key for path in STUDIES for key in tomllib.loads(path.read_text(encoding="utf-8"))}
    assert set(ways()) <= asked, "show them in spa/examples/NAME/study.toml; outputs.jsonl may be the shared ones"


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_example_loads(path: Path, tmp_path: Path) -> None:
    write_example(tmp_path, path.parent.name)
    study = load_study(tmp_path / path.name)
    outputs = load_outputs(study)
    for output in outputs.all():
        for system in study.systems:
            assert system.id not in (output.text or "").casefold().split()  # which would lift the blinding
    assert len(outputs.items) >= 6
    assert outputs.dropped == ()
    assert outputs.unreadable == {}


@pytest.mark.parametrize("example", PAPERS)
def test_a_study_like_a_papers_runs_to_its_report(
    tmp_path: Path, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes to its report, whose p-values, strengths and kappas are all given to libraries or left for a reason."""
    monkeypatch.setattr("analysis.verification.process.Verifier", Unasked)
    words = ["demo", "--example", example, "--annotators", "6", "--out", str(tmp_path), "--json"]
    result = CliRunner(env={"SPA_VERIFY": "on"}).invoke(main, words)
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert [words[1] for words in facts["commands"]] == ["init", "check", "build", "simulate", "rate", "report"]
    found = json.loads((Path(facts["report"]) / "results.json").read_text(encoding="utf-8"))
    assert found["missing"] == []
    assert WORDS["no_call"] not in [row["reason"] for row in found["verification"]["not_recomputed"]]
    assert {row["group"] for row in found["ratings"]["means"]} == {"simulated", "simulated-rater"}
    assert "**" not in json.dumps(found["study"]["questions"])
    assert broken(from_plain(found)) == []


def test_experts_are_interviewed_in_the_papers_words(tmp_path: Path) -> None:
    """Chiang and Lee (2023), C.3.1: a story a page, four questions after all of them, Q3 and Q4 word by word."""
    write_example(tmp_path, "chiang-lee")
    study = load_study(tmp_path / "study.toml")
    assert study.single_outputs
    *_, third, fourth = (one.question for one in study.interview)
    assert third == "How long did it take for you to calibrate your rating on the task?"
    assert fourth.startswith("Did you change your rating on the first three attributes after reading the prompt")


def test_story_lengths_do_not_tell_the_writers_apart() -> None:
    outputs = load_outputs(load_study(EXAMPLES / "stories" / "study.toml"))
    words = [len((output.text or "").split()) for output in outputs.all()]
    assert min(words) >= 40
    assert max(words) <= 90


def test_the_examples_are_small() -> None:
    for names in (("images",), ("speech", "mushra")):
        files = [path for name in names for path in (EXAMPLES / name).rglob("*") if path.is_file()]
        assert sum(path.stat().st_size for path in files if ".spa-copies" not in path.parts) < 300_000


def test_picture_names_say_nothing_of_the_system() -> None:
    rows = (EXAMPLES / "images" / "outputs.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(json.loads(row)["system"] not in json.loads(row)["image"] for row in rows)


def test_the_commented_keys_of_the_stories_exist() -> None:
    """Whoever takes away a "#" gets a key that is known."""
    keys = {key for _, record in study_tables() for key in record.model_fields}
    tables = {header for header, _ in study_tables()}
    text = (EXAMPLES / "stories" / "study.toml").read_text(encoding="utf-8")
    offered = re.findall(r"^# (\w+) = ", text, re.MULTILINE)
    assert len(offered) > 25
    assert set(offered) <= keys
    assert set(re.findall(r"^# (\[[\w.]+\])$", text, re.MULTILINE)) <= tables


def test_the_stories_show_every_key() -> None:
    text = (EXAMPLES / "stories" / "study.toml").read_text(encoding="utf-8")
    for header, record in study_tables():
        if header != "[[criteria.options]]":
            for key in record.model_fields:
                assert re.search(rf"(^|\s|\[|\.|{{ ){key}(\]| =|\.)", text), (
                    f"spa/examples/stories/study.toml lacks {header} {key}"
                )


def test_the_reference_names_every_key_with_its_default() -> None:
    """Each table of a study file has a heading, each key a row that gives its default, or the table it is alike in."""
    text, tables = REFERENCE.read_text(encoding="utf-8"), dict(study_tables())
    rows = {(header, key): (default, meaning) for header, key, default, meaning in reference_rows()}
    for header, record in tables.items():
        assert f"\n## `{header}`\n" in text if header else "\n## Top level\n" in text, (
            f"docs/study-file.md: no section {header}"
        )
        for key, field in record.model_fields.items():
            if record is Variant and key != "id":  # the keys of a rater, explained there
                continue
            assert (header, key) in rows, f"docs/study-file.md: no row on {header} {key}"
            default, meaning = rows[header, key]
            if default == AS_THERE:
                there = tables[meaning].model_fields[key]
                assert (there.default, there.is_required()) == (field.default, field.is_required()), (header, key)
                default = rows[meaning, key][0]
            if field.is_required():
                assert default == "needed", (header, key)
            elif isinstance(field.default, bool | int | float | str):
                written = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
                assert default.strip('"') == written, (header, key)


def test_the_examples_in_the_reference_are_toml() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", REFERENCE.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        tomllib.loads(block)
