"""Who is who: ids written in several ways, tables that meet nobody, names that may be one, logins of one person."""

from __future__ import annotations

import copy
import json
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan, Reading, analyse
from analysis.answers.people import Logins, read_people
from analysis.answers.plan import Expectation
from analysis.answers.same_names import parse_same
from analysis.answers.tables import AnswerTables, check_frames, read_tables
from analysis.commands.report import report
from analysis.results.files import to_json
from spa.errors import AnalysisError
from tests.analysis.made_answers import choices, ratings

NAMES = ("annotator_id", "item_id", "system")
ITEMS, PEOPLE, SYSTEMS = range(6), range(1, 9), ("alpha", "beta", "gamma")


def scored(seed: int = 3) -> pl.DataFrame:
    """Eight people rate six outputs of three systems each."""
    rng = np.random.default_rng(seed)
    rows = [
        (str(person), str(item), system, int(rng.integers(1, 4)) + (system == "alpha"))
        for person in PEOPLE
        for item in ITEMS
        for system in SYSTEMS
    ]
    return ratings(rows)


def exclusions(*ids: str, **columns: object) -> pl.DataFrame:
    return pl.DataFrame({"annotator_id": ids, "rule": "bot", "evidence": "x", **columns})


def metrics(items: list[str], systems: tuple[str, ...] = SYSTEMS) -> pl.DataFrame:
    rows = [(item, system, "bleu", float(place)) for place, item in enumerate(items) for system in systems]
    return pl.DataFrame(rows, ["item_id", "system", "metric", "score"], orient="row")


def mapped(frame: pl.DataFrame, change: Callable[[str], str], *columns: str) -> pl.DataFrame:
    there = [name for name in columns if name in frame.columns]
    return frame.with_columns(pl.Series(name, [change(value) for value in frame[name].to_list()]) for name in there)


def results(tables: AnswerTables, plan: Plan | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(to_json(analyse(tables, plan or Plan())))
    return found


def of(reading: Reading | None = None, plan: Plan | None = None, **frames: pl.DataFrame) -> dict[str, Any]:
    """Return everything but the files."""
    found = results(check_frames(frames, reading or Reading()), plan)
    found["settings"].pop("inputs")
    return found


def notes(reading: Reading | None = None, **frames: pl.DataFrame) -> list[str]:
    return [note for one in check_frames(frames, reading or Reading()).inputs for note in one.notes]


def refusal(reading: Reading | None = None, **frames: pl.DataFrame) -> str:
    with pytest.raises(AnalysisError) as caught:
        check_frames(frames, reading or Reading())
    assert all(len(problem) < 500 for problem in caught.value.problems)
    return str(caught.value)


def caveats(**frames: pl.DataFrame) -> list[str]:
    found = analyse(check_frames(frames, Reading()), Plan())
    assert found.headline is not None
    texts = [row.text for row in found.headline.problems if row.kind == "near_names"]
    assert texts == [row.text for row in found.warning_rows if row.kind == "near_names"]
    assert all(len(text) < 500 for text in texts)
    return texts


def as_floats(name: str) -> str:
    return f"{name}.0"


# ids that are one


@pytest.mark.parametrize("written", [("ratings",), ("exclusions",), ("ratings", "exclusions")], ids=str)
def test_a_column_of_floats_names_whole_numbers(written: tuple[str, ...]) -> None:
    tables = {"ratings": scored(), "exclusions": exclusions("2", "5")}
    whole = of(**tables)
    assert whole["groups"][0]["excluded_annotators"] == 2
    for kind in written:
        tables[kind] = mapped(tables[kind], as_floats, "annotator_id", "item_id")
    assert of(**tables) == whole
    assert any(".0 read without it" in note for note in notes(**tables))


def test_metrics_beside_a_study_follow_its_ids(tmp_path: Path) -> None:
    """A store's tables agree and stay as they are; a file beside them is read as they write ids."""
    mapped(metrics([str(item) for item in ITEMS]), as_floats, "item_id").write_csv(tmp_path / "metrics.csv")
    nobody = pl.DataFrame({"annotator_id": ["q1"], "screening_passed": [0]})
    frames = {"ratings": scored(), "annotators": nobody}
    tables = check_frames(frames, Reading(), files={"metrics": tmp_path / "metrics.csv"}, agreed=True)
    assert tables.metrics is not None
    assert tables.metrics["item_id"].unique().sort().to_list() == [str(item) for item in ITEMS]
    kept = check_frames({"ratings": mapped(scored(), as_floats, "item_id")}, Reading(), agreed=True)
    assert kept.ratings is not None
    assert "1.0" in kept.ratings["item_id"].to_list()


def test_identity_numbers_with_gaps() -> None:
    """A column of numbers with gaps in memory is one of whole numbers."""
    numbers = [1.0, None, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    table = pl.DataFrame({"annotator_id": numbers, "screening_passed": [0] + [1] * 8}).drop_nulls()
    assert of(ratings=scored(), annotators=table)["groups"][0]["excluded_annotators"] == 1


@pytest.mark.parametrize(
    ("ids", "kept"),
    [
        (["1.0", "2"], ["1.0", "2"]),
        (["1e5", "100000"], ["1e5", "100000"]),
        (["007", "8"], ["007", "8"]),
        (["12345678901234567890.0", "12345678901234567891.0"], ["12345678901234567890", "12345678901234567891"]),
        (["1.50", "2.0"], ["1.50", "2.0"]),
        (["1.0", "b"], ["1.0", "b"]),
    ],
    ids=str,
)
def test_only_the_spelling_counts_and_only_of_a_whole_column(ids: list[str], kept: list[str]) -> None:
    tables = check_frames({"ratings": ratings([(name, "i", "x", 3) for name in ids])}, Reading())
    assert tables.ratings is not None
    assert tables.ratings["annotator_id"].cast(pl.String).to_list() == kept


def test_an_id_that_another_table_writes_with_a_fraction_stays() -> None:
    answers = ratings([(name, "i", "x", 3) for name in ("1.0", "2.0", "bob")])
    tables = check_frames({"ratings": answers, "exclusions": exclusions("2.0")}, Reading())
    assert tables.exclusions is not None
    assert tables.exclusions["annotator_id"].to_list() == ["2.0"]


def test_identity_composed_letters() -> None:
    """One name in composed and decomposed letters is one and said."""
    composed = [("a", str(item), "caf\u00e9", 4) for item in range(30)]
    decomposed = [("b", str(item), "cafe\u0301", 3) for item in range(6)]
    tables = {"ratings": ratings(composed + decomposed)}
    (mean,) = of(**tables)["ratings"]["means"]
    assert (mean["system"], mean["n"]) == ("caf\u00e9", 36)
    assert "system: 1 name read with composed letters (NFC)" in notes(**tables)


@pytest.mark.parametrize("kind", ["ratings", "exclusions"])
def test_spaces_around_names_are_said(kind: str) -> None:
    tables = {"ratings": scored(), "exclusions": exclusions("2")}
    assert notes(**tables) == []
    tables[kind] = mapped(tables[kind], lambda name: f" {name}", "annotator_id")
    assert notes(**tables) == ["annotator_id: spaces around names are not read"]


def test_a_plan_may_write_names_in_another_way() -> None:
    table = mapped(scored(), lambda name: name.replace("alpha", "caf\u00e9"), "system")
    table = table.with_columns(criterion=pl.lit("2.0"))
    plan = Plan(
        pairs=((" cafe\u0301", "beta"),),
        expected=(Expectation(system_x="cafe\u0301", system_y="gamma ", expected="x > y"),),  # type: ignore[arg-type]
        lower_is_better=frozenset({"2.0"}),
    )
    said = of(plan=plan, ratings=table)["settings"]
    assert said["pairs"] == [["caf\u00e9", "beta"]]
    assert said["lower_is_better"] == ["2"]
    scores = metrics([str(item) for item in ITEMS], ("caf\u00e9", "beta", "gamma", "ref"))
    assert of(plan=Plan(references=("ref ",)), ratings=table, metrics=scores)["settings"]["references"] == ["ref"]


@pytest.mark.parametrize("llm", ["9", "9.0", " 9"])
def test_an_llm_may_be_named_in_another_way(llm: str) -> None:
    table = pl.concat([scored(), ratings([("9", str(item), "alpha", 3) for item in ITEMS])])
    for written in (table, mapped(table, as_floats, "annotator_id")):
        assert [row["group"] for row in of(Reading(llms=(llm,)), ratings=written)["groups"]] == ["human", "9"]


# properties: how ids are written changes nothing


def _tables(seed: int) -> dict[str, pl.DataFrame]:
    table = scored(seed)
    pairs = [
        (str(person), str(item), "alpha", "beta", "xy"[(seed + person * item) % 2])
        for person in PEOPLE
        for item in ITEMS
    ]
    return {
        "ratings": table,
        "choices": choices(pairs),
        "annotators": pl.DataFrame(
            {"annotator_id": [str(person) for person in PEOPLE], "checks_failed": [0, 1, 0, 0, 0, 0, 2, 0]}
        ),
        "exclusions": exclusions("4"),
        "metrics": metrics([str(item) for item in ITEMS]),
    }


WAYS: dict[str, tuple[Callable[[str], str], tuple[str, ...]]] = {
    "floats": (as_floats, ("annotator_id", "item_id")),
    "spaces": (lambda name: f"  {name}\t", (*NAMES, "system_x", "system_y")),
    "no-break spaces": (lambda name: f"\u00a0{name}", (*NAMES, "system_x", "system_y")),
}


@cache
def as_they_are(seed: int) -> dict[str, Any]:
    """Return the results of tables whose ids are as they were given."""
    return of(**_tables(seed))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=3, deadline=None)
@given(
    seed=st.integers(0, 2),
    kinds=st.sets(st.sampled_from(["ratings", "choices", "annotators", "exclusions", "metrics"]), min_size=1),
)
def test_identity_ids_written_in_any_way(way: str, seed: int, kinds: set[str]) -> None:
    """How ids are written in one or all tables changes nothing."""
    tables = _tables(seed)
    change, columns = WAYS[way]
    other = {kind: mapped(table, change, *columns) if kind in kinds else table for kind, table in tables.items()}
    assert of(**other) == as_they_are(seed)


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 99), kinds=st.sets(st.sampled_from(["ratings", "choices", "metrics"]), min_size=1))
def test_decomposed_letters_change_nothing(seed: int, kinds: set[str]) -> None:
    names = {"alpha": "\u00e4lpha", "beta": "b\u00eata", "gamma": "g\u00e1mma"}
    named = {
        kind: mapped(table, lambda name: names[name], "system", "system_x", "system_y")
        for kind, table in _tables(seed).items()
    }
    other = {
        kind: mapped(table, lambda name: unicodedata.normalize("NFD", name), "system", "system_x", "system_y")
        if kind in kinds
        else table
        for kind, table in named.items()
    }
    assert of(**other) == of(**named)


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2), names=st.permutations(["p 7", "1e5", "007x", "q.0", "Z", "\u4e2d", "9" * 20, "a/b"]))
def test_other_ids_of_people_change_their_names_alone(seed: int, names: list[str]) -> None:
    tables = _tables(seed)
    new = dict(zip(map(str, PEOPLE), names, strict=True))
    other = {kind: mapped(table, lambda name: new[name], "annotator_id") for kind, table in tables.items()}
    text = json.dumps(of(**other), ensure_ascii=False, sort_keys=True)
    before, after = copy.deepcopy(as_they_are(seed)), json.loads(text)
    for key in ("groups", "ratings", "choices", "rankings", "missing"):
        if key == "ratings":
            for one in (before, after):
                one[key].pop("by_annotator")
        assert after[key] == before[key]
    assert {row["annotator_id"] for row in after["exclusions"]} == {new["2"], new["7"], new["4"]}


# ids that must meet answers


@pytest.mark.parametrize(
    ("table", "line"),
    [
        (
            lambda: exclusions("nobody"),
            "exclusions table: expected annotators who answered, got 1 of 1 without answers: 'nobody'",
        ),
        (lambda: exclusions("z1", "z2", "z3", "z4", "1"), "got 4 of 5 without answers: 'z1', 'z2', 'z3'"),
        (lambda: exclusions("002"), "did you mean 2? (--same annotator_id:002=2 makes them one)"),
        (lambda: exclusions("2.0", "a"), "'2.0', 'a'; did you mean 2?"),
    ],
    ids=["one", "some", "zeros", "fraction"],
)
def test_an_exclusion_of_nobody_is_refused(table: Callable[[], pl.DataFrame], line: str) -> None:
    assert line in refusal(ratings=scored(), exclusions=table())


def test_an_exclusion_of_another_assignment_is_refused() -> None:
    table = scored().with_columns(assignment_id="as-" + pl.col("annotator_id"))
    assert of(ratings=table, exclusions=exclusions("2", assignment_id="as-2"))["groups"][0]["excluded_assignments"] == 1
    assert "expected an assignment of '2' ('as-2'), got 'AS-2'" in refusal(
        ratings=table, exclusions=exclusions("2", assignment_id="AS-2")
    )
    assert "none in the answers" in refusal(ratings=scored(), exclusions=exclusions("2", assignment_id="as-2"))


@pytest.mark.parametrize(
    ("llm", "line"),
    [("gtp", "no table names this annotator"), ("GPT", "no table names this annotator; did you mean gpt?")],
)
def test_an_llm_without_answers_is_refused(llm: str, line: str) -> None:
    table = pl.concat([scored(), ratings([("gpt", "1", "alpha", 3)])])
    people = pl.DataFrame({"annotator_id": ["gtp", "1"], "annotator_kind": ["llm", "human"]})
    assert line in refusal(Reading(llms=(llm,)), ratings=table)
    assert line in refusal(Reading(llms=(llm,)), ratings=table, annotators=people)


def test_people_without_answers_are_counted_and_taken_off_nobody() -> None:
    """As screened out: before, twelve who answered and three who did not were "only 9 annotators"."""
    table = ratings([(f"p{person}", str(item), system, 3) for person in range(12) for item in ITEMS for system in "xy"])
    ids = [f"p{person}" for person in range(12)] + ["q1", "q2", "q3"]
    people = pl.DataFrame({"annotator_id": ids, "screening_passed": [1] * 12 + [0] * 3})
    found = of(ratings=table, annotators=people)
    assert (found["groups"][0]["annotators"], found["groups"][0]["excluded_annotators"]) == (12, 0)
    assert found["exclusions"] == []
    assert not [row for row in found["headline"]["problems"] if row["kind"] in ("few_annotators", "many_excluded")]
    assert "3 of 15 annotators have no answers, 3 of them screened out" in notes(ratings=table, annotators=people)


@pytest.mark.parametrize(
    ("items", "systems", "line"),
    [
        (
            list("abc"),
            SYSTEMS,
            "expected items that have answers, got 3 of 3 without answers: 'a', 'b', 'c'; the answers",
        ),
        (["0", "1"], ("Alpha", "Beta"), "did you mean alpha? (--same system:Alpha=alpha makes them one; all like them"),
        (["001", "x"], SYSTEMS, "did you mean 1?"),
        (["0", "01"], SYSTEMS, "got 1 of 2 without answers: '01'; did you mean 1?"),
    ],
    ids=["nothing", "case", "zeros", "some"],
)
def test_metrics_of_other_outputs_are_refused(items: list[str], systems: tuple[str, ...], line: str) -> None:
    assert line in refusal(ratings=scored(), metrics=metrics(items, systems))


def test_metrics_whose_outputs_nobody_judged_are_refused() -> None:
    apart = ratings([("a", "1", "x", 3), ("a", "2", "y", 3)])
    table = pl.DataFrame({"item_id": ["1", "2"], "system": ["y", "x"], "metric": "m", "score": [1.0, 2.0]})
    assert "got 2 of which none has, such as item '1' of system 'y'" in refusal(ratings=apart, metrics=table)


def test_metrics_of_more_outputs_are_counted() -> None:
    table = metrics([str(item) for item in range(9)], (*SYSTEMS, "reference"))
    found = notes(ratings=scored(), metrics=table)
    assert found == ["3 of 9 items have no answers", "1 of 4 systems has no answers"]


# names that may be one


@pytest.mark.parametrize(
    ("column", "old", "new", "shown"),
    [
        ("system", "alpha", "ALPHA", "The systems alpha and ALPHA have nearly the same name and count as two"),
        ("system", "alpha", "alpha\u200b", r"alpha<U+200B>"),
        ("system", "alpha", "\u0430lpha", r"(--same 'system:\u0430lpha=alpha' makes them one)"),
        ("system", "alpha", "openai/alpha", "alpha and openai/alpha"),
        ("system", "alpha", "alpha-2026-01-01", "alpha and alpha-2026-01-01"),
        ("annotator_id", "1", "1.0", "The annotators 1 and 1.0 have nearly"),
        ("item_id", "1", "001", "The items 1 and 001 have nearly"),
    ],
)
def test_identity_near_names_are_a_caveat(column: str, old: str, new: str, shown: str) -> None:
    """Names that are nearly the same are a caveat with what joins them."""
    whole = scored()
    some = (pl.col(column) == old) & (pl.col("item_id" if column != "item_id" else "annotator_id") > "2")
    table = whole.with_columns(pl.when(some).then(pl.lit(new)).otherwise(column).alias(column))
    (text,) = caveats(ratings=table)
    assert shown in text
    assert f"--same {column}" in text or f"--same '{column}" in text
    for option in (column, f"{column}:{new}={old}", *([f"{new}={old}"] if column == "system" else [])):
        tables = check_frames({"ratings": table}, Reading(same=(option,)))
        assert tables.ratings is not None
        assert tables.ratings[column].cast(pl.String).to_list() == whole[column].to_list()
        assert tables.near_names == ()


def test_a_caveat_of_many_names_is_short() -> None:
    table = scored()
    twice = pl.concat([table, mapped(table, lambda name: f"{name}.0", "item_id")])
    (text,) = caveats(ratings=twice)
    assert text.startswith(
        "6 items have nearly the names of others and count by themselves: 0 and 0.0, 1 and 1.0 and 4"
    )
    assert text.endswith("all of them: --same item_id).")


def test_criteria_are_looked_at_too() -> None:
    table = pl.concat([scored().with_columns(criterion=pl.lit(name)) for name in ("Fluency", "fluency")])
    assert [text.split(" have ")[0] for text in caveats(ratings=table)] == ["The criteria fluency and Fluency"]


@pytest.mark.parametrize(
    ("same", "line"),
    [
        (("alfa=alpha",), "same=['alfa=alpha']: no table has the name 'alfa'"),
        (("ALPHA=beta",), "no table has this name; did you mean alpha?"),
        (("item:1=2",), "no table has the name 'item:1'"),
        (("systems",), "expected OLD=NEW, COLUMN:OLD=NEW or a column (annotator_id, item_id, system, criterion)"),
        (("alpha=beta", "alpha=gamma"), "'alpha' is joined to two names"),
        (("alpha=beta", "beta=alpha"), "two names are each joined to the other"),
        (("1=2",), "the columns annotator_id and item_id have this name"),
    ],
    ids=str,
)
def test_a_name_that_cannot_be_joined_is_refused(same: tuple[str, ...], line: str) -> None:
    assert line in refusal(Reading(same=same), ratings=scored())


def test_names_joined_one_after_another_end_at_the_last() -> None:
    table = scored().filter(pl.col("system") != "gamma")
    renamed = mapped(table, lambda name: name.replace("alpha", "final"), "system")
    named = {"system": frozenset(("alpha", "beta", "final"))}
    assert parse_same(("alpha=beta", "beta=final"), named) == {"system": {"alpha": "final", "beta": "final"}}
    assert of(Reading(same=("system:alpha=final",)), ratings=table) == of(ratings=renamed)


# logins of people


def logins(**person_of: str) -> Reading:
    return Reading(people=Logins(person_of={name[1:]: person for name, person in person_of.items()}))


def test_logins_become_people_before_anything_is_counted() -> None:
    table = scored().filter(
        ((pl.col("annotator_id") == "2") & (pl.col("item_id") < "3"))
        | ((pl.col("annotator_id") == "3") & (pl.col("item_id") >= "3"))
        | ~pl.col("annotator_id").is_in(["2", "3"])
    )
    by_hand = mapped(table, lambda name: {"2": "Ann", "3": "Ann"}.get(name, name), "annotator_id")
    reading = logins(_2="Ann", _3="Ann", _77="Bob")
    assert of(reading, ratings=table) == of(ratings=by_hand)
    assert of(reading, ratings=table)["groups"][0]["annotators"] == 7
    found = check_frames({"ratings": table}, reading).inputs
    assert [(one.table, one.notes) for one in found][-1] == (
        "people",
        (
            "2 annotator ids are 1 person",
            "1 of 3 ids have no answers",
            "6 annotators who answered have no row and count as they are ('1', '4', '5')",
        ),
    )
    floats = mapped(table, as_floats, "annotator_id")
    assert of(reading, ratings=floats) == of(ratings=by_hand)


def test_a_person_who_answers_a_cell_by_two_logins_is_told() -> None:
    line = refusal(logins(_2="Ann", _3="Ann"), ratings=scored())
    assert "expected one answer a cell, got 2 for annotator_id Ann" in line
    assert "2 annotator ids are 1 person" in line


def test_names_of_people_are_joined_where_people_are_named() -> None:
    table = scored()
    people = Reading(unnamed=True, people=Logins(person_of={"1": "2"}))
    assert "--people: not with --unnamed" in refusal(people, ratings=table)
    for same in ("annotator_id", "annotator_id:1=2"):
        assert f"--same {same}: not with --unnamed" in refusal(Reading(unnamed=True, same=(same,)), ratings=table)
    joined = Reading(unnamed=True, same=("system:beta=alpha",))
    assert check_frames({"ratings": table}, joined).ratings is not None


def test_people_are_no_llms_and_nobody_is_a_login_of_a_login() -> None:
    table = pl.concat([scored(), ratings([("gpt", "1", "alpha", 3)])])
    reading = Reading(llms=("gpt",), people=Logins(person_of={"1": "gpt"}))
    assert "expected people alone, got an LLM in the row of '1' and 'gpt'" in refusal(reading, ratings=table)
    with pytest.raises(AnalysisError, match="itself a login of 'c'"):
        Logins(person_of={"a": "b", "b": "c"})
    with pytest.raises(AnalysisError, match="itself a login of 'a'"):
        Logins(person_of={"a": "b", "b": "a"})
    assert "that no table has, such as 'x'" in refusal(Reading(people=Logins(person_of={"x": "y"})), ratings=table)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("annotator_id,person\na,b\na,c\n", "row 3: expected one person a login, got 'b' and 'c' for 'a'"),
        ("annotator_id,person\na,\n", "row 2: expected a login and a person, got an empty cell"),
        ("a,b,c\n1,2,3\n", "expected the columns annotator_id and person, or two columns, got a, b, c"),
    ],
)
def test_a_table_of_people_must_say_one_person_a_login(text: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(text)
    with pytest.raises(AnalysisError, match=line):
        read_people(tmp_path / "people.csv")


def test_the_command_reads_people_and_joins_names(tmp_path: Path) -> None:
    table = scored().filter(~((pl.col("annotator_id") == "2") & (pl.col("item_id") < "3")))
    table = table.filter(~((pl.col("annotator_id") == "3") & (pl.col("item_id") >= "3")))
    table = (
        table.with_columns(pl.when(pl.col("item_id") == "4").then(pl.lit("Alpha")).otherwise("system").alias("system"))
        .filter((pl.col("item_id") != "4") | (pl.col("score") > "2"))
        .unique(["annotator_id", "item_id", "system"])
    )
    table.write_csv(tmp_path / "r.csv")
    (tmp_path / "people.csv").write_text("login,who\n2,Ann\n3,Ann\n")
    asked = ["--ratings", str(tmp_path / "r.csv"), "--same", "Alpha=alpha", "--people", str(tmp_path / "people.csv")]
    whole = json.loads(CliRunner().invoke(report, [*asked, "--json"], catch_exceptions=False).stdout)
    assert whole["groups"][0]["annotators"] == 7
    assert [row["file"] for row in whole["settings"]["inputs"]] == ["r.csv", "people.csv"]
    asked[3] = "system:Alpha=alpha"
    parts = json.loads(CliRunner().invoke(report, [*asked, "--json", "--in-parts"], catch_exceptions=False).stdout)
    assert parts["groups"] == whole["groups"]
    assert parts["ratings"]["means"] == whole["ratings"]["means"]
    assert [row["notes"] for row in parts["settings"]["inputs"]][1] == ["2 annotator ids are 1 person"]


def test_a_login_that_is_nearly_that_of_a_row_is_asked_about() -> None:
    table = ratings([(name, str(item), system, 3) for name in ("Ann", "bob") for item in ITEMS for system in SYSTEMS])
    line = "expected a row for Ann, who answered, got one for ann"
    assert line in refusal(logins(_ann="P1", _bob="P2"), ratings=table)


def test_two_files_of_a_table_may_write_ids_in_two_ways(tmp_path: Path) -> None:
    table = ratings([(str(who), str(item), system, 3) for who in range(4) for item in ITEMS for system in SYSTEMS])
    half = table.height // 2
    mapped(table.head(half), as_floats, "annotator_id", "item_id").write_csv(tmp_path / "a.csv")
    table.tail(-half).write_csv(tmp_path / "b.csv")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    found = analyse(read_tables({"ratings": files}, Reading()), Plan())
    assert found.ratings == analyse(check_frames({"ratings": table}, Reading()), Plan()).ratings
