"""``spa init`` and ``spa check``, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spa.cli import main
from spa.commands.init import EXAMPLES
from tests.spa.study_files import OUTPUTS, SPA, write_study


def spa(*arguments: object) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.mark.parametrize("example", EXAMPLES)
def test_what_init_writes_passes_check(tmp_path: Path, example: str) -> None:
    folder = tmp_path / "new" / "study"
    assert spa("init", folder, "--example", example).exit_code == 0
    result = spa("check", folder / "study.toml", "--json")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert told["problems"] == told["warnings"] == told["dropped_items"] == []
    assert told["pages"] > 3
    assert told["minutes"] > 1


def test_init_begins_with_the_stories(tmp_path: Path) -> None:
    spa("init", tmp_path / "a")
    spa("init", tmp_path / "b", "--example", "stories")
    assert (tmp_path / "a" / "study.toml").read_bytes() == (tmp_path / "b" / "study.toml").read_bytes()


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "outputs.jsonl").write_text("mine", encoding="utf-8")
    result = spa("init", tmp_path)
    assert result.exit_code == 1
    assert "outputs.jsonl: expected no such file, got one" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["outputs.jsonl"]
    assert (tmp_path / "outputs.jsonl").read_text(encoding="utf-8") == "mine"


def test_init_into_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = spa("init", tmp_path / "file")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1


def test_init_where_nothing_can_be_written_is_one_line() -> None:
    result = spa("init", "/proc/study")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1


def test_check_tells_effort_and_cost(tmp_path: Path) -> None:
    people = "[people]\nannotators = 40\npay = 1.255\nminutes = 6\n"
    result = spa("check", write_study(tmp_path, rest=SPA + people))
    assert result.exit_code == 0
    for part in (
        "6 announced to annotators",
        "50.20 USD = 40 x 1.255",
        "hourly pay     12.55 USD",
        "the SPA paper advises",
    ):
        assert part in result.stdout
    told = json.loads(spa("check", tmp_path / "study.toml", "--json").stdout)
    assert (told["cost"], told["hourly_pay"], told["minutes_told"]) == ("50.20", "12.55", 6.0)
    assert told["asked"] == {"spa": ["overall"]}
    assert told["exposures"] == [1]


def test_check_tells_the_cost_of_the_first_wave_and_at_most(tmp_path: Path) -> None:
    people = '[people]\nannotators = 40\npay = "1.50"\n[stopping]\nrule = "when_decided"\nmost = 60\n'
    path = write_study(tmp_path, rest=SPA + people)
    said = " ".join(spa("check", path).stdout.split())
    assert "at most 60, in waves of 10, until every pair is decided" in said
    assert "at most 90.00 USD = 60 x 1.50, first wave 15.00, without platform fees" in said
    told = json.loads(spa("check", path, "--json").stdout)
    assert (told["annotators"], told["cost"], told["first_wave_cost"]) == (60, "90.00", "15.00")
    assert "60 assignments" in spa("build", path).stdout
    assert json.loads(spa("check", tmp_path / "study.toml", "--json").stdout)["first_wave"] == 10


def test_check_lists_dropped_items(tmp_path: Path) -> None:
    filters = '[[outputs.filters]]\nfield = "output"\ncontains_none_of = ["X wrote 5"]\n'
    result = spa("check", write_study(tmp_path, outputs=OUTPUTS + filters))
    assert "1 of 6 items left out" in result.stdout
    assert "i5: contains_none_of, output of x: contains" in result.stdout


def test_check_tells_every_mistake_and_fails(tmp_path: Path) -> None:
    path = write_study(tmp_path, rest='[spa]\nexposure = "five"\n[texts]\na = 1\n')
    result = spa("check", path)
    assert result.exit_code == 1
    assert [line.startswith(f"spa: {path}: ") for line in result.stderr.splitlines()] == [True, True]
    told = json.loads(spa("check", path, "--json").stdout)
    assert told["study"] is None
    assert len(told["problems"]) == 2


def test_check_tells_outputs_and_texts_together(tmp_path: Path) -> None:
    path = write_study(tmp_path, rest='[spa]\nexposure = 7\n[texts]\n"form.sytem_label" = "Writer {label}"\n')
    result = spa("check", path)
    assert result.exit_code == 1
    assert "expected at least 7 items" in result.stderr
    assert "form.sytem_label" in result.stderr


def test_check_tells_tables_language_and_outputs_together(tmp_path: Path) -> None:
    """A mistake in one place hides none in another."""
    rest = SPA + '[people]\nannotators = 0\n[[criteria]]\nid = "c"\n[analysis]\nexpected = ["x > z"]\n'
    path = write_study(tmp_path, head='id = "small"\ntitle = "T"\nlanguage = "xx"\n', rest=rest)
    (tmp_path / "outputs.jsonl").write_text("[1]\n", encoding="utf-8")
    lines = spa("check", path).stderr.splitlines()
    places = ("annotators", "name", "language", "expected, entry 1", "outputs.jsonl line 1")
    assert [place for place in places if sum(f"{place}: expected" in line for line in lines) != 1] == []
    assert len(lines) == len(places)


def test_check_warns_of_store_of_another_state(tmp_path: Path) -> None:
    """Check tells of a store that was built from another state."""
    path = write_study(tmp_path)
    assert spa("build", path).exit_code == 0

    def told() -> list[str]:
        warnings = json.loads(spa("check", path, "--json").stdout)["warnings"]
        return [line for line in warnings if "study.sqlite" in line]

    assert told() == []
    text = path.read_text(encoding="utf-8")
    path.write_text("seed = 5\n" + text, encoding="utf-8")
    (line,) = told()
    assert line.startswith("seed = 5: ")
    assert "was built with seed 0; restore that seed" in line
    path.write_text(text + "[likert]\n", encoding="utf-8")
    (line,) = told()
    assert "was built from another study, or the study file" in line
    path.write_text('allowed_names = ["x"]\n' + text, encoding="utf-8")  # decides nothing about the forms
    assert told() == []


def test_check_without_a_file_is_one_line(tmp_path: Path) -> None:
    result = spa("check", tmp_path / "none.toml")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1


def test_markup_in_a_title_is_printed_as_it_is(tmp_path: Path) -> None:
    result = spa("check", write_study(tmp_path, head='id = "small"\ntitle = "[red]Big[/red] [/x]"\n'))
    assert result.exit_code == 0
    assert "[red]Big[/red] [/x]" in result.stdout
