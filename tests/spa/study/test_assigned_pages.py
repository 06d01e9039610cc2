"""Who sees what, from a file: what was drawn, written and read back gives the same forms; what is wrong is one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.answers.study_answers import _uneven
from spa.commands.check import overview_of
from spa.commands.workspace import open_workspace
from spa.elicitation import ways
from spa.elicitation.assignment_json import assignment_to_json
from spa.errors import StudyError
from spa.records.assignment import Assignment, BlindingKey, key_to_json
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.assigned_pages import assignment_problems
from spa.study.assignment_balance import balance_of
from spa.study.load import load_study, study_fingerprint
from spa.study.outputs import load_outputs
from spa.study.page_rows import pages_csv
from spa.study.sampling import sample_assignments, study_rng
from tests.spa.rehearsed import spa
from tests.spa.study_files import OUTPUTS, ROWS, SPA, problems_of, write_rows, write_study
from tests.strategies import outputs_of, small_study, studies

Drawn = tuple[Assignment, BlindingKey]


def drawn(study: Study, outputs: Outputs, count: int = 4, seed: int | None = None) -> list[Drawn]:
    rng = study_rng(study.seed if seed is None else seed)
    return list(sample_assignments(study, outputs, count=count, rng=rng))


def from_file(study: Study, path: Path, text: str | None = None, forms: int = 4) -> Study:
    if text is not None:
        path.write_text(text, encoding="utf-8")
    people = study.people.model_copy(update={"annotators": forms})
    design = study.design.model_copy(update={"assignments": path})
    return study.model_copy(update={"people": people, "design": design})


def as_stored(draws: list[Drawn]) -> list[tuple[str, str]]:
    return [(assignment_to_json(assignment), key_to_json(key)) for assignment, key in draws]


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=studies(), samples=st.integers(1, 2))
def test_what_is_written_gives_the_same_forms(tmp_path: Path, case: tuple[Study, Outputs], samples: int) -> None:
    """Any study's draw, written and read back under another seed, is the same to the byte."""
    study, outputs = case
    draws = drawn(study, outputs)
    read = from_file(study, tmp_path / "pages.csv", pages_csv(study, draws))
    assert as_stored(drawn(read, outputs, seed=study.seed + 1)) == as_stored(draws)


DEALT: dict[str, Any] = {"spa": None, "choices": {"per_annotator": 3}}
WAYS: list[dict[str, Any]] = [
    DEALT,
    {"spa": None, "choices": {"per_annotator": 2, "directions": "both"}},
    {"spa": None, "choices": {"directions": "both", "outputs": 2}, "design": {"items": 3}},
    {"spa": None, "best_worst": {"size": 2}, "design": {"items": 3}},
    {"spa": {"exposure": 2}, "spans": {"outputs": "all", "order": "mixed"}, "ranking": {"size": 2}},
]


@pytest.mark.parametrize("tables", WAYS, ids=lambda tables: "-".join(key for key in tables if tables[key]))
def test_every_way_comes_back(tmp_path: Path, tables: dict[str, Any]) -> None:
    """Ways that the property does not draw; a study without its draw's seed has the same forms."""
    study = small_study(**tables)
    outputs = outputs_of(study, samples=2)
    draws = drawn(study, outputs)
    read = from_file(study, tmp_path / "pages.csv", pages_csv(study, draws))
    assert as_stored(drawn(read, outputs, seed=7)) == as_stored(draws)


def test_ids_that_are_hard_to_write_come_back(tmp_path: Path) -> None:
    """Formulas of spreadsheets, quotes, commas, lines, digits and apostrophes in ids of items."""
    study = small_study(design={"items": 6}, spa=None, likert={})
    made = outputs_of(study)
    names = ["=1+1", '"a", b', "two\nlines", "007", "'-1", " spaced "]
    ids = dict(zip([item.item_id for item in made.items], names, strict=True))
    items = tuple(replace(item, item_id=ids[item.item_id]) for item in made.items)
    cells = {
        (ids[item], system): tuple(replace(one, item_id=ids[item]) for one in own)
        for (item, system), own in made.cells.items()
    }
    outputs = replace(made, items=items, cells=cells, by_id={item.item_id: item for item in items})
    draws = drawn(study, outputs)
    read = from_file(study, tmp_path / "pages.csv", pages_csv(study, draws))
    assert as_stored(drawn(read, outputs, seed=7)) == as_stored(draws)


def test_a_person_may_say_no_more_than_items(tmp_path: Path) -> None:
    """Columns, samples and questions are drawn then, balanced as in any study, the same at each reading."""
    study = from_file(small_study(likert={}), tmp_path / "p.csv", forms=6)
    rows = "".join(f"reader {number},i{number}\nreader {number},i{(number + 1) % 6}\n" for number in range(6))
    (tmp_path / "p.csv").write_text("form,item\n" + rows, encoding="utf-8")
    outputs = outputs_of(study)
    draws = drawn(study, outputs, 6)
    assert [[one.item_id for one in form.blocks[0].shown[::3]] for form, _ in draws][2] == ["i2", "i3"]
    assert as_stored(draws) == as_stored(drawn(study, outputs, 6))
    for form, key in draws:  # every row by label, however its file orders systems
        (block,) = form.blocks
        assert [[one.label for one in row] for row in block.rows] == [list(block.labels)] * 2
        assert sorted(key.systems) == sorted(block.labels)
    balance = balance_of(study, draws)
    assert set(balance.columns.values()) == {2}
    assert [*balance.caveats()] == []
    assert [form.assignment_id for form, _ in draws] == [f"a0000{number}" for number in range(1, 7)]
    for form, _ in draws:  # as the paper asks: the first item's
        assert {one.output.item_id for one in form.rated} == {form.blocks[0].shown[0].item_id}


def test_rows_may_stand_in_any_order(tmp_path: Path) -> None:
    """Pages and positions say where, not the rows; forms come in the order of their first rows."""
    study = small_study(likert={})
    outputs = outputs_of(study)
    draws = drawn(study, outputs)
    head, *rows = pages_csv(study, draws).splitlines()
    first = [next(row for row in rows if row.startswith(f"a0000{number},")) for number in range(1, 5)]
    shuffled = first + sorted((row for row in rows if row not in first), reverse=True)
    read = from_file(study, tmp_path / "p.csv", "\n".join([head, *shuffled]))
    assert as_stored(drawn(read, outputs)) == as_stored(draws)


ORDER = ("zzgood", "zzfair", "zzpoor")


def fixed_rows(forms: int = 6, orders: Sequence[tuple[str, ...]] = (ORDER,)) -> str:
    """Return forms of two items, with the columns of each order in turn; one, as on the SPA paper's pages."""
    rows = [
        f"{form},i{item},{system},{place}\n"
        for form in range(forms)
        for item in range(2)
        for place, system in enumerate(orders[form % len(orders)], start=1)
    ]
    return "form,item,system,position\n" + "".join(rows)


def caveats_of(study: Study, outputs: Outputs, count: int) -> list[str]:
    balance = balance_of(study, drawn(study, outputs, count), [True] * count)
    return [f"{one.uneven}: {one.do}" for one in balance.caveats()]


def test_labels_that_give_systems_away_are_named(tmp_path: Path) -> None:
    """One line with the figure; a single form, or columns that change over forms, say nothing."""
    study = from_file(small_study(), tmp_path / "p.csv", fixed_rows(), forms=6)
    outputs = outputs_of(study)
    (line,) = caveats_of(study, outputs, 6)
    assert line == (
        "labels give systems away, zzgood A on 6, zzfair B on 6, zzpoor C on 6 of 6 forms (even: 2): who sees "
        "two forms, or hears of one, knows them; without column position the study draws columns"
    )
    assert caveats_of(study, outputs, 2) == []
    assert [*balance_of(study, drawn(study, outputs, 6)).caveats()] == []  # columns are our own
    rotated = [ORDER[turn:] + ORDER[:turn] for turn in range(3)]
    assert caveats_of(from_file(study, tmp_path / "p.csv", fixed_rows(6, rotated)), outputs, 6) == []
    leaning = [*rotated[:1] * 4, *rotated[1:]]
    (line,) = caveats_of(from_file(study, tmp_path / "p.csv", fixed_rows(6, leaning)), outputs, 6)
    assert line == "systems are in each column on 1 to 4 forms: place may decide"


def test_what_is_uneven_is_counted(tmp_path: Path) -> None:
    """Sides, pairs and systems judged: by hand, two forms of three."""
    study = small_study(spa={"exposure": 2, "directions": "one"}, ranking={"size": 2})
    rows = fixed_rows(2).replace("\n", ",\n").replace("position,", "position,asked")
    rows += (
        "".join(
            f"{form},{item},{system},{place},{asked}\n"
            for form in range(2)
            for asked, item, pair in (
                ("spa", "", ("zzgood", "zzfair")),
                ("ranking", "i0", ("zzgood", "zzpoor")),
                ("ranking", "i1", ("zzpoor", "zzgood")),
            )
            for place, system in enumerate(pair, start=1)
        )
        .replace(",1,spa", ",1,spa")
        .replace(",2,spa", ",2,spa")
    )
    study = from_file(study, tmp_path / "p.csv", rows, forms=2)
    outputs = outputs_of(study)
    balance = balance_of(study, drawn(study, outputs, 2))
    assert balance.first["spa"][("zzgood", "zzfair")] == {True: 2}
    assert balance.first["spa"][("zzfair", "zzpoor")].total() == 0
    assert balance.asked["ranking"] == {"zzgood": 4, "zzpoor": 4}
    told = caveats_of(study, outputs, 2)
    assert told == [
        "in [ranking] outputs of zzgood are 4 times, of zzfair 0 times judged: results lean on some",
        "[spa] asks zzgood and zzfair 2 times, zzgood and zzpoor 0: tests of the latter are weaker",
        "[spa] has zzgood before zzfair in 2 of 2: which comes first may decide; counterbalance them, or leave "
        "out these rows to have orders drawn",
    ]


BASE = fixed_rows(4)
HEAD = "form,item,system,position\n"
ROW = "0,i0,zzgood,1\n"
PAIRS = "form,item,system,page\n"
SPA_ROWS = "form,item,system,asked\n" + "".join(
    f"0,i{n},{s},\n" for n in (0, 1) for s in ("zzgood", "zzfair", "zzpoor")
)
MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({}, "item,system\ni0,zzgood\n", "expected columns form and item, got item, system"),
    ({}, "form,item\n", "p.csv"),
    ({}, BASE.replace(ROW, ",i0,zzgood,1\n"), "row 2: expected the name of a form in column form, got nothing"),
    (
        {},
        BASE.replace(ROW, "0,i0,zzgood,first\n"),
        'row 2: expected a whole number from 1 in column position, got "first"',
    ),
    ({}, BASE.replace(ROW, "0,i0,zzgood,0\n"), 'in column position, got "0"'),
    ({}, BASE.replace(ROW, "0,i0,zzgood,\n"), 'of all such rows of form "0", or of none, got nothing'),
    ({}, BASE.replace(ROW, "0,i0,zzgood,2\n"), 'each position of a page once, got 2 twice in form "0"'),
    ({}, BASE.replace(",i1,", ",i9,"), 'row 5: expected the id of an item, got "i9" (12 rows); known: i0'),
    (
        {},
        BASE.replace("zzgood", "zzgod"),
        'row 2: expected a system that is compared, got "zzgod" (8 rows); did you mean',
    ),
    ({}, BASE.replace(ROW, ""), 'expected each system once on a page, got no zzgood in form "0"; complete it'),
    ({}, BASE.replace(ROW, "0,i0,zzfair,1\n"), "got no zzgood"),
    ({}, BASE.replace(ROW, "0,i0,,1\n"), "row 2: expected a system beside position or sample, got none"),
    (
        {},
        BASE.replace("0,i1,zzgood,1\n0,i1,zzfair,2\n", "0,i1,zzgood,2\n0,i1,zzfair,1\n"),
        "a system in one column of a form",
    ),
    (
        {},
        BASE + "".join(f"0,i2,{s},{n}\n" for n, s in enumerate(["zzgood", "zzfair", "zzpoor"], 1)),
        "expected 2 pages",
    ),
    ({}, fixed_rows(3), "expected 4 forms, one an assignment of [people], got 3"),
    ({}, "form,item,system,sample\n0,i0,zzgood,2\n", 'expected an output of "zzgood" for item "i0", got sample 2 of 1'),
    ({}, SPA_ROWS + "0,,zzgood,likert\n", 'expected nothing or a way of asking in column asked, got "likert"'),
    ({}, SPA_ROWS + "0,i0,zzgood,spa\n0,,zzfair,spa\n", 'expected no item in a comparison of [spa], got "i0"'),
    ({}, SPA_ROWS + "0,,zzgood,spa\n", 'expected two systems that [spa] compares, got zzgood in form "0"'),
    ({}, SPA_ROWS + "0,,zzgood,spa\n0,,zzfair,spa\n0,,zzfair,spa\n0,,zzgood,spa\n", "expected each pair once"),
    ({}, "form,item,system,asked\n0,,zzgood,spa\n0,,zzfair,spa\n", "comparisons alone; add its items"),
    ({"likert": {}}, SPA_ROWS + "0,i3,zzgood,likert\n", 'an output that form "0" shows, got "zzgood" for item "i3"'),
    ({"likert": {}}, SPA_ROWS + "0,i0,zzgood,likert\n0,i0,zzgood,likert\n", "an output once in [likert]"),
    ({"likert": {}}, SPA_ROWS + "0,i0,zzgood,likert\n0,i1,zzgood,likert\n", 'as [likert] outputs = "first", got of 2'),
    ({"choices": {}}, SPA_ROWS + "0,i0,zzgood,choices\n", "outputs of one item by 2 systems in [choices], got zzgood"),
    (
        {"choices": {"comparisons": [["zzgood", "zzfair"]]}},
        SPA_ROWS + "0,i0,zzgood,choices\n0,i0,zzpoor,choices\n",
        "a pair that [choices] compares",
    ),
    (
        {"choices": {"directions": "both"}},
        SPA_ROWS + "0,i0,zzgood,choices\n0,i0,zzfair,choices\n",
        'expected both orders, as [choices] directions = "both", got one of zzgood for "i0", zzfair for "i0"',
    ),
    (
        {"choices": {}},
        "form,item,system,asked,page\n"
        + "".join(f"0,i{n},{system},,{n + 1}\n" for n in range(2) for system in ORDER)
        + "".join(f"0,i0,{system},choices,{page}\n" for page in (1, 2) for system in ORDER[:2]),
        'expected each question once, got zzgood for "i0", zzfair for "i0" in form "0" again',
    ),
    (
        {"spa": None, "likert": {"pages": "output"}},
        "form,item,system\n0,i0,zzgood\n0,i0,zzgood\n",
        'expected each output once, got "zzgood" for item "i0" again in form "0" (as in',
    ),
    (DEALT, PAIRS + "0,i0,zzgood,1\n0,i1,zzfair,1\n", "outputs of one item by 2 systems"),
    (
        DEALT,
        PAIRS + "0,i0,zzgood,1\n0,i0,zzfair,1\n",
        "expected [choices] per_annotator = 1, as many as its longest form",
    ),
    (
        {"spa": {"exposure": 1, "same_items": False}},
        "form,item,system\n0,i0,zzgood\n",
        "expected column page, as systems",
    ),
]


@pytest.mark.parametrize(("tables", "text", "said"), MISTAKES, ids=[said[:38] for _, _, said in MISTAKES])
def test_a_bad_file_is_one_line(tmp_path: Path, tables: dict[str, Any], text: str, said: str) -> None:
    """Where, what was expected, what was found, what to do."""
    study = from_file(small_study(**tables), tmp_path / "p.csv", text, forms=4 if "4 forms" in said else 1)
    with pytest.raises(StudyError) as caught:
        drawn(study, outputs_of(study))
    problem = caught.value.problems[0]
    assert said in problem
    assert "p.csv" in problem
    assert "; " in problem
    assert all(len(line) < 500 for line in caught.value.problems)


FILTER = '[[outputs.filters]]\nfield = "output"\nmin_words = 3\n'
MARKED = OUTPUTS + 'item = "source"\nitem_text = "source"\nreplace = [["source of ", ""]]\n'
IN_FILE = SPA + '[design]\nassignments = "p.csv"\n[people]\nannotators = {}\n'


def test_items_left_out_or_replaced_are_told(tmp_path: Path) -> None:
    """Where a filter, or a mark, keeps a file from meeting the outputs, one line says which."""
    rows = [{**row, "output": "too short"} if row["item_id"] == "i2" else row for row in ROWS]
    write_rows(tmp_path / "outputs.jsonl", rows)
    (tmp_path / "p.csv").write_text("form,item,system\n1,i2,x\n1,i2,y\n", encoding="utf-8")
    filtered = write_study(tmp_path, outputs=OUTPUTS + FILTER, rest=IN_FILE.format(1))
    (line,) = problems_of_check(filtered)
    assert line == (
        'p.csv row 2: expected an item that stays, got "i2", which min_words left out (output of x: 2 words, expected '
        "at least 3) (2 rows); remove the filter, or this form"
    )
    (tmp_path / "p.csv").write_text("form,item\n1,i2\n", encoding="utf-8")
    (line,) = problems_of_check(write_study(tmp_path, outputs=MARKED, rest=IN_FILE.format(1)))
    assert line == (
        'p.csv row 2: expected an id as the outputs have it, got "i2", which replace makes of "source of i2"; write '
        "that one, as replace changes texts and not ids"
    )


def problems_of_check(path: Path) -> list[str]:
    with pytest.raises(StudyError) as caught:
        overview_of(path)
    return [problem.replace(f"{path.parent}/", "") for problem in caught.value.problems]


def with_file(rest: str, name: str) -> str:
    key = f'[design]\nassignments = "{name}"\n'
    return rest.replace("[design]\n", key) if "[design]" in rest else rest + key


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ('[spa.exposure_study]\nsystem_x = "x"\nsystem_y = "y"\nexposures = [1, 2]\n', "got an exposure study"),
        (SPA + '[stopping]\nrule = "when_decided"\n', 'rule = "fixed" in [stopping], got "when_decided"'),
        (
            '[likert]\npages = "output"\n[design]\nanswers_per_output = 2\n',
            "expected no answers_per_output beside it, as the file says how often each output is shown, got 2",
        ),
        (SPA, '[design] assignments: expected a file, got "none.csv", no such file'),
    ],
)
def test_studies_that_no_file_fits(tmp_path: Path, rest: str, said: str) -> None:
    (tmp_path / "p.csv").write_text("form,item\n1,i2\n", encoding="utf-8")
    name = "none.csv" if "no such" in said else "p.csv"
    (problem,) = problems_of(write_study(tmp_path, rest=with_file(rest, name)))
    assert said in problem


def test_ways_that_take_no_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A way of asking of somebody's own, which does not say what it takes of a file."""
    monkeypatch.setattr("spa.study.assigned_pages.ways", lambda: {"spa": replace(ways()["spa"], assigned_as=None)})
    study = from_file(small_study(), Path("p.csv"))
    (problem,) = assignment_problems(study)
    assert problem.message == (
        "[design] assignments: expected ways of asking whose pages a file can hold, got [spa]; remove one of them"
    )


def test_a_study_from_a_file_is_built_and_checked(tmp_path: Path) -> None:
    """`check` prints the balance, `build` writes what it read; another file is another study, its name is not."""
    rows = "".join(f"reader {n},i{n},{s},{p}\n" for n in range(4) for p, s in ((1, "x"), (2, "y")))
    (tmp_path / "p.csv").write_text("form,item,system,position\n" + rows, encoding="utf-8")
    path = write_study(tmp_path, rest=IN_FILE.format(3))
    told = json.loads(spa("check", path, "--json").stdout)
    assert told["assignments"]["outputs"] == {"x": 3, "y": 3}
    assert told["assignments"]["columns"] == {"x": [3, 0], "y": [0, 3]}
    assert told["warnings"][0].endswith("p.csv: 1 of 4 forms are not used, as [people] asks for 3")
    assert "labels give systems away, x A on 3, y B on 3 of 3 forms" in told["warnings"][1]
    assert "assignments" in spa("check", path).stdout
    spa("build", path, "--pages", tmp_path / "out.csv")
    with open_workspace(path) as workspace:
        assert [line[:24] for line in _uneven(workspace)] == ["labels give systems away"]
    before = study_fingerprint(load_study(path))
    (tmp_path / "p.csv").rename(tmp_path / "moved.csv")
    path.write_text(path.read_text(encoding="utf-8").replace("p.csv", "moved.csv"), encoding="utf-8")
    assert study_fingerprint(load_study(path)) == before
    assert "expected 5 forms to build, got 4" in spa("build", path, "--annotators", "5", code=1).stderr
    assert spa("build", path, "--annotators", "4").exit_code == 0
    shutil.copy(tmp_path / "out.csv", tmp_path / "moved.csv")
    assert study_fingerprint(load_study(path)) != before
    again = spa("build", path, "--store", tmp_path / "again.sqlite", "--pages", tmp_path / "again.csv")
    assert "who sees what in" in again.stdout
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()


def test_the_published_pages_of_the_spa_paper(tmp_path: Path, shared_data: Path) -> None:
    """Each of the first readers meets their own five stories, writers A to E as published, the first to be rated."""
    stories = (shared_data / "spa_gpt3" / "stories.jsonl").read_text(encoding="utf-8").split("\n")[:100]
    (tmp_path / "outputs.jsonl").write_text("\n".join(stories) + "\n", encoding="utf-8")
    writers = ("ada", "babbage", "curie", "davinci", "human")
    cells = ["form,item,system,position"]
    for row in map(json.loads, stories):
        item = f"{row['reader_id']}/{row['prompt_index']}"
        cells += [f"{row['reader_id']},{item},{name},{place}" for place, name in enumerate(writers, start=1)]
    (tmp_path / "p.csv").write_text("\n".join(cells) + "\n", encoding="utf-8")
    pairs = [["ada", "human"], *[[y, x] for x, y in pairwise(writers)]]
    path = write_study(
        tmp_path,
        outputs=OUTPUTS + 'layout = "wide"\nitem = ["reader_id", "prompt_index"]\n',
        systems="".join(f'[[systems]]\nid = "{name}"\n' for name in writers),
        rest=f"[spa]\ncomparisons = {json.dumps(pairs)}\n[likert]\n" + IN_FILE.removeprefix(SPA).format(20),
    )
    study = load_study(path)
    draws = drawn(study, load_outputs(study), 20)
    assert len(draws) == 20
    for reader, (form, key) in enumerate(draws):
        assert [row[0].item_id for row in form.blocks[0].rows] == [f"{reader}/{number}" for number in range(1, 6)]
        assert [key.systems[label] for label in "ABCDE"] == list(writers)
        assert {one.output.item_id for one in form.rated} == {f"{reader}/1"}
