"""One set of answers, written in many ways: the same results, everywhere but in what is said of the files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import pickle
import random
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from click.testing import CliRunner

from analysis import AnswerTables, Plan, Reading, analyse, check_frames, read_tables
from analysis.answers.people import read_people
from analysis.results.files import to_json
from spa.commands.import_answers import import_
from spa.errors import AnalysisError

Row = dict[str, str]
Tables = dict[str, list[Row]]
Written = dict[str, Path | Sequence[Path]]
Write = Callable[[Tables, Path], Written]

PEOPLE, ITEMS, SYSTEMS = [str(n) for n in range(1, 7)], [str(n) for n in range(1, 8)], ["café", "beta", "gamma"]
PAIRS = [("café", "beta"), ("café", "gamma"), ("beta", "gamma")]
CRITERIA = ("fluency", "faithfulness")
IDS = ("annotator_id", "item_id")
NAMES = (*IDS, "system", "system_x", "system_y", "criterion")
REMARKS = ("", "", "", 'said "so", twice', "one; two\nthree", "ça va", "\ttab, and 'quotes'")
BOM = "\ufeff"


@cache
def answers() -> Tables:
    """Ratings, choices and preferences, with an exclusion, people's facts and metrics beside them."""
    rng = np.random.default_rng(11)
    tables: Tables = {"ratings": [], "choices": [], "preferences": []}
    for person in PEOPLE:
        for item in ITEMS:
            own = rng.integers(0, 2)
            for place, system in enumerate(SYSTEMS):
                for criterion in CRITERIA:
                    score = str(min(5, int(rng.integers(1, 4)) + own + (place == 0)))
                    row = {"annotator_id": person, "item_id": item, "system": system, "criterion": criterion}
                    remark = REMARKS[int(rng.integers(len(REMARKS)))]
                    tables["ratings"].append(
                        row | {"score": "" if rng.random() < 0.03 else score} | {"explanation": remark}
                    )
            for x, y in PAIRS:
                winner = str(rng.choice(["x", "x", "y", "tie", ""], p=[0.4, 0.2, 0.25, 0.12, 0.03]))
                row = {"annotator_id": person, "item_id": item, "system_x": x, "system_y": y}
                tables["choices"].append(row | {"winner": winner})
        for x, y in PAIRS:
            share = float(rng.integers(30, 90)) / 100
            for one, other, value in ((x, y, share), (y, x, 1 - share)):
                row = {"annotator_id": person, "system_x": one, "system_y": other}
                tables["preferences"].append(row | {"preference": f"{value:.2f}"})
    tables["exclusions"] = [{"annotator_id": "4", "rule": "bot", "evidence": "wrote ça, then left"}]
    tables["annotators"] = [
        {"annotator_id": person, "screening_passed": "true", "checks_failed": "2" if person == "2" else "0"}
        for person in PEOPLE
    ]
    tables["metrics"] = [
        {"item_id": item, "system": system, "metric": "chrf", "score": f"{rng.random() * 100:.3f}"}
        for item in ITEMS
        for system in SYSTEMS
    ]
    return tables


@cache
def items() -> Tables:
    """Soft preferences about items, with metrics beside them."""
    rng = np.random.default_rng(5)
    rows = [
        {"annotator_id": person, "item_id": item, "system_x": x, "system_y": y, "preference": f"{rng.random():.3f}"}
        for person in PEOPLE
        for item in ITEMS
        for x, y in PAIRS
    ]
    return {"preferences": rows, "metrics": answers()["metrics"]}


ANEW = ("two files", "JSON lines", "Parquet of categories")  # ways that are analysed whatever their tables hold
BOTH = pytest.mark.parametrize("given", [answers, items], ids=["answers", "item preferences"])


def as_csv(rows: Sequence[Row], path: Path, **dialect: Any) -> Path:
    encoding, begin = dialect.pop("encoding", "utf-8"), dialect.pop("begin", "")
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), **{"lineterminator": "\n", **dialect})
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes((begin + text.getvalue()).encode(encoding))
    return path


def all_as(write: Callable[[Sequence[Row], Path], Path], ending: str) -> Write:
    return lambda tables, folder: {kind: write(rows, folder / f"{kind}{ending}") for kind, rows in tables.items()}


def dialect(ending: str = ".csv", **more: Any) -> Write:
    return all_as(partial(as_csv, **more), ending)


def as_gzip(rows: Sequence[Row], path: Path) -> Path:
    plain = as_csv(rows, path.with_suffix(""))
    path.write_bytes(gzip.compress(plain.read_bytes()))
    return path


def json_value(name: str, text: str) -> object:
    if text == "":
        return None
    return float(text) if name in ("score", "preference") else text


def records(rows: Sequence[Row]) -> list[dict[str, object]]:
    return [{name: json_value(name, text) for name, text in row.items()} for row in rows]


def as_array(rows: Sequence[Row], path: Path) -> Path:
    path.write_text(json.dumps(records(rows), ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def as_columns(rows: Sequence[Row], path: Path) -> Path:
    path.write_text(json.dumps({name: [row[name] for row in records(rows)] for name in rows[0]}), encoding="utf-8")
    return path


def as_lines(rows: Sequence[Row], path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in records(rows)), encoding="utf-8")
    return path


def as_parquet(rows: Sequence[Row], path: Path, *, categories: bool = False) -> Path:
    frame = pl.DataFrame(records(rows))
    if categories:
        frame = frame.with_columns(pl.col(name).cast(pl.Categorical) for name in frame.columns if name in NAMES)
    if {*IDS} & {*frame.columns} and not categories:
        frame = frame.with_columns(pl.col(name).cast(pl.Int64) for name in IDS if name in frame.columns)
    frame.write_parquet(path)
    return path


def changed(rows: Sequence[Row], change: Callable[[str], str], *names: str) -> list[Row]:
    return [{name: change(text) if name in names and text else text for name, text in row.items()} for row in rows]


def each_table(change: Callable[[list[Row]], list[Row]], *kinds: str) -> Write:
    """Write CSV of changed rows: of the tables named, else of all."""
    plain = dialect()
    return lambda tables, folder: plain(
        {kind: change(rows) if kind in kinds or not kinds else rows for kind, rows in tables.items()}, folder
    )


def split(tables: Tables, folder: Path) -> Written:
    """Write every table of answers in two files, of which one has its columns in another order."""
    written: Written = dict(dialect()(tables, folder))
    for kind in tables.keys() & {"ratings", "choices", "preferences"}:
        rows = tables[kind]
        second = [dict(reversed(row.items())) for row in rows[len(rows) // 3 :]]
        parts = as_csv(rows[: len(rows) // 3], folder / f"{kind}1.csv"), as_lines(second, folder / f"{kind}2.jsonl")
        written[kind] = parts
    return written


def shuffled(rows: list[Row]) -> list[Row]:
    """Shuffle all rows but the first mentions of names, whose order is that of the report."""
    seen: set[tuple[str, str]] = set()
    first: list[Row] = []
    others: list[Row] = []
    for row in rows:
        names = {("system" if name.startswith("system") else name, row[name]) for name in NAMES if name in row}
        (others if names <= seen else first).append(row)
        seen |= names
    return [*first, *random.Random(2).sample(others, len(others))]


def padded(rows: list[Row]) -> list[Row]:
    return changed(
        rows, lambda text: f" {text}  ", *(name for name in rows[0] if name not in ("explanation", "evidence"))
    )


def floats(rows: list[Row]) -> list[Row]:
    return changed(rows, lambda text: f"{text}.0", *IDS)


def decomposed(rows: list[Row]) -> list[Row]:
    return changed(rows, lambda text: unicodedata.normalize("NFD", text), *NAMES)


WAYS: dict[str, Write] = {
    "two files": split,
    "another order": each_table(shuffled),
    "columns in another order": each_table(lambda rows: [dict(reversed(row.items())) for row in rows]),
    "padded": each_table(padded),
    "decomposed": each_table(decomposed),
    "ids as floats": each_table(floats),
    "ids of ratings as floats": each_table(floats, "ratings", "preferences"),
    "ids beside as floats": each_table(floats, "exclusions", "annotators", "metrics"),
    "numbers as floats": each_table(lambda rows: changed(rows, lambda text: repr(float(text)), "score", "preference")),
    "decimal commas": lambda tables, folder: dialect(delimiter=";")(
        {
            kind: changed(rows, lambda text: text.replace(".", ","), "score", "preference")
            for kind, rows in tables.items()
        },
        folder,
    ),
    "tabs": dialect(".tsv", delimiter="\t"),
    "tabs in CSV": dialect(delimiter="\t"),
    "semicolons": dialect(delimiter=";"),
    "sep line": dialect(delimiter=";", begin="sep=;\n"),
    "CRLF": dialect(lineterminator="\r\n"),
    "BOM": dialect(encoding="utf-8-sig"),
    "UTF-16": dialect(encoding="utf-16"),
    "UTF-16, big end first": dialect(encoding="utf-16-be", begin=BOM),
    "quotes everywhere": dialect(quoting=csv.QUOTE_ALL),
    "gzip": all_as(as_gzip, ".csv.gz"),
    "JSON array": all_as(as_array, ".json"),
    "JSON object of arrays": all_as(as_columns, ".json"),
    "JSON lines": all_as(as_lines, ".jsonl"),
    "Parquet": all_as(as_parquet, ".parquet"),
    "Parquet of categories": all_as(partial(as_parquet, categories=True), ".parquet"),
}


def of(
    paths: Mapping[str, Path | Sequence[Path]], reading: Reading | None = None, *, anew: bool = False
) -> dict[str, Any]:
    """Return everything but the files; tables that hold the same are analysed once, unless ``anew``."""
    return results_of(read_tables(paths, reading or Reading()), anew=anew)


def results_of(tables: AnswerTables, *, anew: bool = False) -> dict[str, Any]:
    text = None if anew else ANALYSED.get(held := _held(tables))
    if text is None:
        text = to_json(analyse(tables, Plan()))
    if not anew:
        ANALYSED[held] = text
    found: dict[str, Any] = json.loads(text)
    found["settings"].pop("inputs")
    return found


ANALYSED: dict[tuple[str, bytes], str] = {}


def _held(tables: AnswerTables) -> tuple[str, bytes]:
    """Return all that tables hold but the names of their files, every value with its type."""
    parts = {field.name: getattr(tables, field.name) for field in fields(tables) if field.name != "inputs"}
    frames = {name: part for name, part in parts.items() if isinstance(part, pl.DataFrame)}
    others = {name: part for name, part in parts.items() if name not in frames}
    return repr({name: (frame.schema, frame.rows()) for name, frame in frames.items()}), pickle.dumps(others)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[], Tables]], dict[str, Any]]:
    """Return the results of plain CSV files of tables, once made."""

    @cache
    def found(given: Callable[[], Tables]) -> dict[str, Any]:
        return of(dialect()(given(), tmp_path_factory.mktemp("plain")))

    return found


@BOTH
@pytest.mark.parametrize("way", WAYS)
def test_the_way_a_file_is_written_changes_no_result(way: str, given: Any, plain: Any, tmp_path: Path) -> None:
    assert of(WAYS[way](given(), tmp_path), anew=way in ANEW) == plain(given)


@BOTH
@pytest.mark.parametrize("how", ["texts", "numbers", "pandas"])
def test_frames_change_no_result(how: str, given: Any, plain: Any) -> None:
    frames: dict[str, Any] = {kind: pl.DataFrame(rows) for kind, rows in given().items()}
    if how != "texts":
        numbers = cs.by_name("score", "preference", *IDS, require_all=False)
        frames = {kind: frame.with_columns(numbers.cast(pl.Float64, strict=False)) for kind, frame in frames.items()}
    if how == "pandas":
        frames = {kind: frame.to_pandas() for kind, frame in frames.items()}
    found = results_of(check_frames(frames, Reading()))
    assert without_missing(found) == without_missing(plain(given))


def renamed(found: object, names: Mapping[str, str]) -> object:
    if isinstance(found, dict):
        return {renamed(key, names): renamed(value, names) for key, value in found.items()}
    if isinstance(found, list):
        return [renamed(value, names) for value in found]
    if isinstance(found, str):
        for new, old in names.items():
            found = found.replace(new, old)
    return found


@BOTH
def test_other_ids_change_no_number(given: Any, plain: Any, tmp_path: Path) -> None:
    """Names that sort as the old ones do are mapped back; nothing else may differ."""
    people = {old: f"worker~{chr(96 + int(old))}~" for old in PEOPLE}
    segments = {old: f"segment~{chr(109 + int(old))}~" for old in ITEMS}
    systems = {"café": "model~q~", "beta": "model~p~", "gamma": "model~r~"}
    own = {"annotator_id": people, "item_id": segments, "system": systems, "system_x": systems, "system_y": systems}

    def change(rows: list[Row]) -> list[Row]:
        return [{name: own[name][text] if name in own else text for name, text in row.items()} for row in rows]

    found = of(each_table(change)(given(), tmp_path))
    back = {new: old for names in (people, segments, systems) for old, new in names.items()}
    assert renamed(found, back) == plain(given)


def swapped(rows: list[Row]) -> list[Row]:
    turned = {"x": "y", "y": "x"}
    return [
        row
        | {"system_x": row["system_y"], "system_y": row["system_x"], "winner": turned.get(row["winner"], row["winner"])}
        if place % 2
        else row
        for place, row in enumerate(rows)
    ]


SIDES = {"x": "model_a", "y": "model_b", "tie": "tie", "": ""}
VERDICTS: dict[str, Callable[[Row], str]] = {
    "names of columns": lambda row: SIDES[row["winner"]],
    "brackets": lambda row: {"x": "[[A]]", "y": "[[B]]", "tie": "[[C]]", "": ""}[row["winner"]],
    "signs": lambda row: {"x": "[[A>B]]", "y": "[[B>>A]]", "tie": "[[A=B]]", "": ""}[row["winner"]],
    "capitals": lambda row: row["winner"].upper(),
    "names of systems": lambda row: {"x": row["system_x"], "y": row["system_y"]}.get(row["winner"], row["winner"]),
}


def choices_alone() -> Tables:
    return {"choices": answers()["choices"]}


@pytest.mark.parametrize("words", VERDICTS)
@pytest.mark.parametrize("turn", [False, True], ids=["as asked", "sides swapped"])
def test_words_of_verdicts_and_sides_change_no_result(words: str, turn: bool, plain: Any, tmp_path: Path) -> None:
    rows = answers()["choices"]
    rows = swapped(rows) if turn else rows
    said = [row | {"winner": VERDICTS[words](row)} for row in rows]
    assert of(dialect()({"choices": said}, tmp_path)) == plain(choices_alone)


def without_missing(found: dict[str, Any]) -> dict[str, Any]:
    """Leave out why answers are missing: it is told in the words of the file."""
    return {name: value for name, value in found.items() if name != "missing"}


@pytest.mark.parametrize("word", ["NA", "n/a", "-", "None", "null"])
def test_words_for_no_answer_change_no_result(word: str, plain: Any, tmp_path: Path) -> None:
    rows = [row | {"winner": row["winner"] or word} for row in answers()["choices"]]
    found, before = of(dialect()({"choices": rows}, tmp_path)), plain(choices_alone)
    assert without_missing(found) == without_missing(before)
    assert sum(row["n"] for row in found["missing"]) == sum(row["n"] for row in before["missing"])


LETTERS = {"x": "A", "y": "B", "tie": "same", "": ""}


def test_words_that_are_asked_about_change_no_result(plain: Any, tmp_path: Path) -> None:
    rows = [row | {"winner": LETTERS[row["winner"]]} for row in answers()["choices"]]
    paths = dialect()({"choices": rows}, tmp_path)
    with pytest.raises(AnalysisError) as caught:
        of(paths)
    assert all(len(problem) < 500 and "values=" in problem for problem in caught.value.problems)
    assert of(paths, Reading(values={"A": "x", "B": "y", "same": "tie"})) == plain(choices_alone)


PATHS = {
    "who.worker": "annotator_id",
    "item.ids[0]": "item_id",
    'model["name.short"]': "system",
    "judgement.aspect": "criterion",
    "judgement.value": "score",
    "judgement.why[-1]": "explanation",
}


def nested(row: dict[str, object]) -> dict[str, object]:
    return {
        "who": {"worker": row["annotator_id"]},
        "item": {"ids": [row["item_id"], "other"]},
        "model": {"name.short": row["system"], "name": "none"},
        "judgement": {"aspect": row["criterion"], "value": row["score"], "why": ["first", row["explanation"]]},
    }


def ratings_alone() -> Tables:
    return {"ratings": answers()["ratings"]}


def test_paths_into_records_change_no_result(plain: Any, tmp_path: Path) -> None:
    path = tmp_path / "ratings.jsonl"
    path.write_text("".join(json.dumps(nested(row)) + "\n" for row in records(answers()["ratings"])))
    assert of({"ratings": path}, Reading(mapping=PATHS)) == plain(ratings_alone)


def test_records_taken_apart_change_no_result(plain: Any, tmp_path: Path) -> None:
    folded: dict[str, dict[str, list[dict[str, object]]]] = {}
    for row in records(answers()["ratings"]):
        where = folded.setdefault(str(row["item_id"]), {}).setdefault(str(row["system"]), [])
        where.append({name: row[name] for name in ("annotator_id", "criterion", "score", "explanation")})
    path = tmp_path / "ratings.jsonl"
    path.write_text("".join(json.dumps({"id": item, "outputs": own}) + "\n" for item, own in folded.items()))
    reading = Reading(each="outputs{system}[]", mapping={"id": "item_id"})
    assert of({"ratings": path}, reading) == plain(ratings_alone)


def test_json_in_a_cell_changes_no_result(plain: Any, tmp_path: Path) -> None:
    rows = [
        {"item_id": str(row.pop("item_id")), "response": json.dumps(row, ensure_ascii=False)}
        for row in records(answers()["ratings"])
    ]
    mapping = {f"response.{name}": name for name in ("annotator_id", "system", "criterion", "score", "explanation")}
    assert of({"ratings": as_csv(rows, tmp_path / "ratings.csv")}, Reading(mapping=mapping)) == plain(ratings_alone)


@BOTH
def test_rows_and_columns_taken_away_change_no_result(given: Any, plain: Any, tmp_path: Path) -> None:
    """Rows of another batch are left out by either option, and a column is a constant."""
    tables = {kind: [row | {"batch": "main"} for row in rows] for kind, rows in given().items()}
    for kind in tables.keys() & {"ratings", "choices", "preferences"}:
        extra = [dict.fromkeys(row, "1") | {"system": "spam", "batch": "pilot"} for row in tables[kind][:9]]
        tables[kind] = [*extra, *({name: row[name] for name in row} for row in tables[kind])]
        tables[kind] = [{name: row[name] for name in tables[kind][-1]} for row in tables[kind]]
    paths = dialect()(tables, tmp_path)
    assert of(paths, Reading(drop={"batch": ("pilot",)})) == plain(given)
    assert of(paths, Reading(keep={"batch": ("main",)})) == plain(given)


def test_a_constant_is_a_column(tmp_path: Path) -> None:
    rows = [row | {"criterion": "overall", "group": "experts"} for row in answers()["choices"]]
    said = of(dialect()({"choices": rows}, tmp_path))
    constants = Reading(constants={"criterion": "overall", "group": "experts"})
    assert of(dialect()(choices_alone(), tmp_path), constants) == said


def test_logins_of_one_person_are_that_person(plain: Any, tmp_path: Path) -> None:
    """Each person answered under two logins, one an item in two; a table says who they are."""

    def login(row: Row) -> Row:
        return row | {"annotator_id": f"login {row['annotator_id']}{'ab'[int(row.get('item_id', '0')) % 2]}"}

    rows = [login(row) for row in answers()["ratings"]]
    people = [{"annotator_id": f"login {person}{half}", "person": person} for person in PEOPLE for half in "ab"]
    where = as_csv(people, tmp_path / "people.csv")
    paths = dialect()({"ratings": rows}, tmp_path)
    assert of(paths, Reading(people=read_people(where))) == plain(ratings_alone)


def test_words_for_scores_change_no_result(plain: Any, tmp_path: Path) -> None:
    words = {"1": "Awful", "2": "Poor", "3": "Fair", "4": "Good", "5": "Great"}
    paths = dialect()({"ratings": changed(answers()["ratings"], words.__getitem__, "score")}, tmp_path)
    with pytest.raises(AnalysisError) as caught:
        of(paths)
    assert all(len(problem) < 500 and "Good" in problem for problem in caught.value.problems)
    assert of(paths, Reading(values={word: number for number, word in words.items()})) == plain(ratings_alone)


@pytest.mark.parametrize("code", ["-1", "-99", "no idea"])
def test_codes_for_no_answer_change_no_result(code: str, plain: Any, tmp_path: Path) -> None:
    rows = [row | {"score": row["score"] or code} for row in answers()["ratings"]]
    found = of(dialect()({"ratings": rows}, tmp_path), Reading(missing=(code,)))
    before = plain(ratings_alone)
    assert sum(row["n"] for row in found["missing"]) == sum(row["n"] for row in before["missing"])
    assert found["settings"].pop("missing_codes") == [code]
    expected = before | {
        "settings": {name: value for name, value in before["settings"].items() if name != "missing_codes"}
    }
    assert without_missing(found) == without_missing(expected)


def without_remarks() -> Tables:
    return {"ratings": [{name: row[name] for name in row if name != "explanation"} for row in answers()["ratings"]]}


def wide_rows() -> list[Row]:
    wide: dict[tuple[str, ...], Row] = {}
    for row in answers()["ratings"]:
        key = tuple(row[name] for name in ("annotator_id", "item_id", "system"))
        wide.setdefault(key, dict(zip(("annotator_id", "item_id", "system"), key, strict=True)))[row["criterion"]] = (
            row["score"]
        )
    return [*wide.values()]


def test_columns_of_criteria_change_no_result(plain: Any, tmp_path: Path) -> None:
    path = as_csv(wide_rows(), tmp_path / "ratings.csv")
    assert of({"ratings": path}, Reading(criteria=CRITERIA)) == plain(without_remarks)


def imported(path: Path, mapping: str, folder: Path) -> dict[str, Path]:
    where = folder / "import.toml"
    where.write_text(mapping, encoding="utf-8")
    out = folder / "tables"
    result = CliRunner().invoke(import_, ["csv", str(path), "--map", str(where), "--out", str(out), "--keep-ids"])
    assert result.exit_code == 0, result.output
    return {
        kind: out / f"{kind}.csv" for kind in ("ratings", "choices", "preferences") if (out / f"{kind}.csv").exists()
    }


def test_an_import_of_ratings_changes_no_result(plain: Any, tmp_path: Path) -> None:
    path = as_csv(wide_rows(), tmp_path / "wide.csv")
    questions = "".join(
        f'[[questions]]\ncolumn = "{name}"\nsystem_column = "system"\ncriterion = "{name}"\n' for name in CRITERIA
    )
    found = imported(path, f'annotator = "annotator_id"\nitem = "item_id"\n{questions}', tmp_path)
    assert of(found) == plain(without_remarks)


def test_an_import_of_choices_changes_no_result(plain: Any, tmp_path: Path) -> None:
    path = as_csv(answers()["choices"], tmp_path / "raw.csv")
    sides = "".join(f'{name}_column = "{name}"\n' for name in ("system_x", "system_y"))
    question = f'[[questions]]\ncolumn = "winner"\nkind = "choice"\n{sides}'
    found = imported(path, f'annotator = "annotator_id"\nitem = "item_id"\n{question}', tmp_path)
    assert of(found) == plain(choices_alone)


@pytest.mark.parametrize("encoding", ["cp1252", "mac_roman"])
def test_an_unsaid_encoding_is_asked_for(encoding: str, plain: Any, tmp_path: Path) -> None:
    rows = changed(answers()["ratings"], lambda text: text, "system")
    path = as_csv(rows, tmp_path / "ratings.csv", encoding=encoding)
    with pytest.raises(AnalysisError) as caught:
        of({"ratings": path})
    [line] = caught.value.problems
    assert len(line) < 500
    assert "encoding" in line
    assert of({"ratings": path}, Reading(encoding=encoding)) == plain(ratings_alone)


def test_an_excluded_id_that_nobody_has_is_refused(tmp_path: Path) -> None:
    tables = answers() | {"exclusions": [{"annotator_id": "44", "rule": "bot", "evidence": "x"}]}
    with pytest.raises(AnalysisError, match="44"):
        of(dialect()(tables, tmp_path))
