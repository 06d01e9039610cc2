"""The axis of platforms: what each member of the registry must bring, and a toy member from its table to its bonus."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from importlib.metadata import EntryPoint
from pathlib import Path
from pkgutil import resolve_name

import polars as pl
import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from analysis.heds.answers import how_recruited
from spa.cli import main
from spa.commands.check import overview_of
from spa.commands.serve import ServerOptions
from spa.errors import PlatformError, StudyError
from spa.journal import Journal
from spa.platforms.idempotent_calls import DONE
from spa.platforms.review import rules_for, unpaid_bonuses
from spa.records import platforms
from spa.records.platforms import GROUP, Platform, find_platform, installed_platforms, late, lowest_hourly_pay
from spa.responses.decisions import Decision, add_decision
from spa.responses.outcomes import OUTCOMES
from spa.server.app import create_app
from spa.server.survey_context import installed_adapters
from spa.study.file_schema import file_schema
from spa.study.load import load_study
from spa.study.schema_errors import REFERENCE, tables_in
from tests.printed_strings import PACKAGES, ROOT
from tests.spa.platforms.test_panel import answer_all
from tests.spa.server.served_study import Place, opened
from tests.spa.server.served_study import built as built
from tests.spa.server.served_study import place as place
from tests.spa.small_study import STUDY, write_study
from tests.study_schema import DOCS, meanings, rows_of
from tests.toys import pool_platform

TOY = EntryPoint("pool", "tests.toys.pool_platform:PLATFORM", GROUP)
MEMBERS = {one.key: one for one in (*installed_platforms(), pool_platform.PLATFORM)}
WITH_TABLES = [key for key, one in MEMBERS.items() if one.table is not None]
POOL = """
[pool]
back = "https://lab.example/done"

[pool.words]
ada = "heron"
bob = "wren"
cyd = "teal"
dee = "smew"
eve = "rail"
fay = "crane"
"""
ROOMS = {  # where a key may stand
    "link": ("spa/platforms/link.py",),
    "panel": ("spa/platforms/panel/", "spa/importers/surveyjs.py"),  # which calls a group of questions so
    "mturk": ("mturk/", "spa/launcher.py", "spa/importers/"),  # the packages' names, and a format of that name
    "prolific": (
        "prolific/",
        "spa/launcher.py",
        "analysis/answers/column_names.py",
        "mturk/endpoints.py",
        "spa/importers/",
    ),
}


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Platform:
    """Install the toy beside the others."""
    found = platforms.registered()
    monkeypatch.setattr(platforms, "registered", lambda: (*found, TOY))
    return pool_platform.PLATFORM


def spa(*words: object) -> list[str]:
    """Run a command, and return the lines of its problems."""
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return [line.removeprefix("spa: ") for line in result.stderr.splitlines() if line.startswith("spa: ")]


def test_the_four_platforms_are_installed() -> None:
    assert [one.key for one in installed_platforms()] == ["link", "mturk", "panel", "prolific"]


@pytest.mark.parametrize(
    ("key", "door", "reviewed", "known"),
    [
        ("link", False, False, False),
        ("panel", True, False, False),
        ("mturk", True, True, True),
        ("prolific", True, True, True),
        ("pool", True, True, True),
    ],
)
def test_platform_admits_reviews_and_knows_people(
    key: str, door: bool, reviewed: bool, known: bool, toy: Platform
) -> None:
    """Which platforms have a door of their own, whose people are paid by review, and of whom names are held."""
    platform = find_platform(key)
    assert platform is not None
    assert (platform.mount is not Platform(key="none", title="none").mount) == door
    assert (rules_for(key) is not None) == reviewed
    assert platform.knows_people == known


@pytest.mark.parametrize("key", MEMBERS)
def test_a_platform_brings_what_steps_ask_for(key: str, place: Place) -> None:
    """Late functions exist; review rules, where there are some, can be shown and carried out."""
    platform = MEMBERS[key]
    for function in (platform.read, platform.suit, platform.mount, platform.review_rules):
        if function is not None and ":" in function.__name__:
            assert callable(resolve_name(function.__name__))
    assert (platform.table is None) == (key == "link")
    if platform.review_rules is None:
        return
    rules = platform.review_rules()
    assert rules.platform
    assert rules.lines
    assert rules.shortest_message > 0
    assert list(rules.paid_bonuses(place.workspace.store)) == []
    for command in rules.commands:
        name, *words = command.split()
        assert "STUDY" in words
        if name == "spa":
            assert CliRunner().invoke(main, [*words[: words.index("STUDY")], "--help"]).exit_code == 0


@pytest.mark.parametrize("key", MEMBERS)
def test_a_study_without_the_table_has_no_door(key: str, place: Place) -> None:
    plain, mounted = (create_app(place.workspace, adapters=each) for each in ([], [MEMBERS[key].mount]))
    assert [route.path for route in mounted.routes] == [route.path for route in plain.routes]  # type: ignore[attr-defined]


@pytest.mark.parametrize("key", WITH_TABLES)
@pytest.mark.parametrize("table", ["no_such_key = 1", "", 'title = ["a", "b"]\nname = 3\nback = true'])
def test_check_tells_what_the_platform_tells(tmp_path: Path, toy: Platform, key: str, table: str) -> None:
    """One line a mistake, the same as from the platform's own record."""
    path = write_study(tmp_path, f"{STUDY}\n[{key}]\n{table}\n")
    raw = tomllib.loads(table)
    try:
        MEMBERS[key].read(raw, str(path))
        expected: tuple[str, ...] = ()
    except StudyError as error:
        expected = error.problems
    assert spa("check", path) == list(expected)
    assert expected or (key, table) == ("mturk", "")  # of which every key has a default
    assert all(line.startswith(str(path)) and len(line) < 500 for line in expected)


@pytest.mark.parametrize("key", WITH_TABLES)
def test_other_commands_refuse_a_table_that_no_command_reads(tmp_path: Path, toy: Platform, key: str) -> None:
    path = write_study(tmp_path, f"{STUDY}\n[{key}]\nno_such_key = 1\n")
    if MEMBERS[key].own_commands:
        assert load_study(path).platforms == {key: {"no_such_key": 1}}
        return
    with pytest.raises(StudyError, match="no_such_key"):
        load_study(path)


def test_a_platform_without_keys_takes_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that stands in a study file is left aside in silence."""
    path = write_study(tmp_path, f"{STUDY}\n[link]\nopen = true\n")
    (told,) = spa("build", path)
    assert told.startswith(f"{path}: link: unknown key; ")
    monkeypatch.setattr(pool_platform, "PLATFORM", Platform(key="pool", title="the pool"))
    monkeypatch.setattr(platforms, "registered", lambda: (TOY,))
    path.write_text(STUDY + POOL)
    assert spa("build", path) == [f"{path}: [pool]: expected no such table, got one; remove it"]


@pytest.mark.parametrize("value", ["3", "[1]", '"x"'])
@pytest.mark.parametrize("key", WITH_TABLES)
def test_what_is_no_table_is_told(tmp_path: Path, toy: Platform, key: str, value: str) -> None:
    path = write_study(tmp_path, f"{key} = {value}\n{STUDY}")
    assert spa("check", path) == [f"{path}: [{key}]: expected a table, got {value}; correct it"]


@pytest.mark.parametrize(("typed", "meant"), [("prolifc", "prolific"), ("pool2", "pool"), ("panels", "panel")])
def test_a_mistyped_table_is_told_with_the_right_name(tmp_path: Path, toy: Platform, typed: str, meant: str) -> None:
    (told,) = spa("check", write_study(tmp_path, f"{STUDY}\n[{typed}]\nname = 1\n"))
    assert told.endswith(f'{typed}: unknown key; did you mean "{meant}"?')


@pytest.mark.parametrize(
    ("command", "table"),
    [
        (("prolific", "plan"), "[prolific]\ndescription = 'x'\nreward = -1"),
        (("prolific", "plan"), f"[prolific]\nproject = '{'5' * 24}'\ndescription = 'x'\nminutes = 10"),
        (("mturk", "plan"), "[mturk]\ncountries = ['USA']\nguard = 1"),
    ],
)
def test_check_tells_what_the_platforms_command_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, str], table: str
) -> None:
    monkeypatch.setenv("MTURK_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("PROLIFIC_API_URL", "http://127.0.0.1:1")
    path = write_study(tmp_path, f"{STUDY}\n{table}\n")
    assert spa("build", path) == []
    told = spa("check", path)
    assert told
    assert told == spa(*command, path)


@pytest.mark.parametrize("key", [key for key in WITH_TABLES if MEMBERS[key].page is not None])
def test_every_key_of_the_table_is_in_its_page(key: str) -> None:
    platform = MEMBERS[key]
    assert platform.table is not None
    page = (DOCS / str(platform.page)).read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```toml\n.*?^```|`[^`\n]+`", page, re.MULTILINE | re.DOTALL))
    keys = {name for _, record in tables_in(platform.table, key) for name in record.model_fields}
    missing = [name for name in sorted(keys - set(OUTCOMES)) if not re.search(rf"\b{name}\b", code)]
    assert missing == []


@pytest.mark.parametrize("key", [key for key in WITH_TABLES if MEMBERS[key].page == REFERENCE])
def test_the_reference_lists_the_table_as_its_record_does(key: str) -> None:
    """`python -m tests.study_schema` writes these rows."""
    table = MEMBERS[key].table
    assert table is not None
    text = (DOCS / REFERENCE).read_text(encoding="utf-8")
    for header, record in tables_in(table, key):
        assert f"## `{header}`" in text
        assert rows_of(record) in text


def test_no_other_file_names_a_platform() -> None:
    """No texts but docstrings and no attributes; of the plain link, whose key is a common word, no source of visits."""
    named = []
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        keys = [key for key, room in ROOMS.items() if not place.startswith(room)]
        text = path.read_text(encoding="utf-8")
        if any(key in text.lower() for key in keys if key != "link"):
            named += [f"{place}:{line} {key}" for line, key in _named(ast.parse(text), keys)]
        if "link" in keys and re.search(r'source\b.*"link"', text):
            named.append(f"{place} link")
    assert named == []


def _named(tree: ast.Module, keys: list[str]) -> Iterator[tuple[int, str]]:
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    docstrings = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    told = {key: re.compile(rf"^{key}$" if key == "panel" else rf"\b{key}\b", re.IGNORECASE) for key in keys}
    told.pop("link", None)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield from ((node.lineno, key) for key, words in told.items() if words.search(node.value))
        elif isinstance(node, ast.Attribute) and node.attr in ("mturk", "prolific") and node.attr in keys:
            yield node.lineno, node.attr


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("tests.toys.nowhere:PLATFORM", "cannot be loaded (ModuleNotFoundError: No module named 'tests.toys.nowhere')"),
        ("tests.toys.pool_platform:NOTHING", "cannot be loaded (AttributeError: module"),
        ("tests.toys.pool_platform:KEY", "expected the Platform pool, got a str"),
        ("spa.platforms.link:PLATFORM", "expected the Platform pool, got that of link"),
    ],
)
def test_a_broken_plug_in_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str, told: str) -> None:
    broken = EntryPoint("pool", value, GROUP)
    monkeypatch.setattr(platforms, "registered", lambda: (broken,))
    with pytest.raises(PlatformError) as caught:
        installed_adapters()
    (line,) = caught.value.problems
    assert line.startswith(f"{value}: {told}")
    assert line.endswith("; reinstall the package that brings this platform, or uninstall it")
    assert spa("check", write_study(tmp_path, STUDY + POOL)) == [line]


def test_what_is_late_is_imported_when_it_is_called() -> None:
    assert late("operator:add")(2, 3) == 5
    with pytest.raises(PlatformError, match=r"tests.toys.nowhere:mount: cannot be loaded \(ModuleNotFoundError"):
        late("tests.toys.nowhere:mount")()


@pytest.fixture
def pool(tmp_path: Path, toy: Platform) -> Iterator[Place]:
    """Serve a study with the toy's table, as `spa serve` does."""
    path = write_study(tmp_path, STUDY + POOL)
    assert spa("build", path) == []
    found = opened(path, tmp_path / "answers.sqlite")
    served = ServerOptions(study=path, store=str(tmp_path / "answers.sqlite"), public_url="https://here.example")
    found.client = TestClient(served.app(found.workspace), follow_redirects=False)
    with found.workspace:
        yield found


def test_a_toy_admits_leads_back_and_is_reviewed(pool: Place) -> None:
    """From the table in the study file to a bonus, with no file of the product touched."""
    assert pool.client.post("/pool?member=ada&word=wren").status_code == 403
    assert "data-begin" in pool.client.get("/pool?member=ada&word=heron").text
    link = pool.client.post("/pool?member=ada&word=heron").headers["location"]
    assert pool.client.get("/pool?member=ada&word=heron").headers["location"] == link
    answer_all(pool, link)
    end = pool.client.get(f"{link}/done")
    store = pool.workspace.store
    assert end.headers["location"] == f"https://lab.example/done?code={store.visits.outcome_codes('pool')['completed']}"
    (visit,) = store.visits.of_people()
    assert (visit.source, visit.person, visit.completed) == ("pool", "ada", True)
    bonus = Decision(
        submission_id=visit.submission_id,
        action="bonus",
        reviewer="Ana",
        decided_at=1.0,
        note="Thank you.",
        amount=Decimal("0.50"),
    )
    with store.transaction() as connection:
        number = add_decision(connection, bonus)
    rules = rules_for(visit.source)
    assert rules is not None
    assert rules.categories == ("asleep",)
    assert [one.amount for one in unpaid_bonuses(store)] == [Decimal("0.50")]
    journal = Journal(store)
    journal.finish(journal.begin("pool", "bonus", str(number), "{}"), DONE)
    assert unpaid_bonuses(store) == []


def test_answers_of_a_toys_people_reach_the_report(pool: Place, tmp_path: Path) -> None:
    for member, word in (("ada", "heron"), ("bob", "wren")):
        answer_all(pool, pool.client.post(f"/pool?member={member}&word={word}").headers["location"])
    pool.workspace.close()
    at = ("--store", tmp_path / "answers.sqlite")
    shown = CliRunner().invoke(main, ["status", str(pool.path), *map(str, at), "--codes"]).stdout
    assert re.search(r"^ +pool +2 ", shown, re.MULTILINE)
    assert "codes for pool: completed " in shown
    assert spa("export", pool.path, *at, "--out", tmp_path / "tables") == []
    annotators = pl.read_csv(tmp_path / "tables" / "annotators.csv")
    assert annotators["source"].to_list() == ["pool", "pool"]
    assert not set(annotators["annotator_id"]) & {"ada", "bob"}
    assert spa("report", pool.path, *at, "--out", tmp_path / "report") == []
    assert "Answers of 2 people" in (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert spa("heds", pool.path, *at, "--out", tmp_path / "heds") == []
    assert "From the pool of our lab." in (tmp_path / "heds" / "heds.md").read_text(encoding="utf-8")


def test_a_toy_is_in_check_schema_and_datasheet(tmp_path: Path, toy: Platform) -> None:
    few = POOL.replace('fay = "crane"\n', "")
    path = write_study(tmp_path, STUDY + few)
    assert spa("check", path) == [f"{path}: [pool] words: expected one for each annotator, got 5; add members"]
    named = POOL.replace("[pool]", '[pool]\ngreeting = "Do you like alpha?"')
    warnings = overview_of(write_study(tmp_path, STUDY + named)).warnings
    assert any("appears in [pool] greeting" in line for line in warnings)
    schema = file_schema(meanings())
    assert schema["properties"]["pool"] == {"$ref": "#/$defs/PoolTable"}
    assert schema["$defs"]["PoolTable"]["properties"]["back"]["description"] == "address to which people return"
    lowest = lowest_hourly_pay("XTS")
    assert lowest is not None
    assert (lowest.amount, lowest.platform) == (3, "the pool")
    lowest = lowest_hourly_pay("GBP")  # where two say
    assert lowest is not None
    assert (lowest.amount, lowest.platform) == (6, "Prolific")
    assert find_platform("pool") is toy
    assert [how_recruited(source) for source in ("pool", "connect")] == [
        "From the pool of our lab.",
        "Through connect.",
    ]
    with pytest.raises(StudyError, match="a name other than link, mturk, prolific, pool, rater"):
        MEMBERS["panel"].read({"name": "pool", "redirects": {"completed": "https://a.example"}}, "study.toml")
