"""Outputs: layouts, samples, filters, hostile content; nothing dropped without a line."""

from __future__ import annotations

import datetime
import gzip
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from spa.errors import StudyError
from spa.records.clean_text import cleaned
from spa.records.study import OutputFilter
from spa.study.filters import failures
from spa.study.load import load_study, study_fingerprint
from spa.study.output_files import read_rows
from spa.study.outputs import load_outputs
from spa.study.warnings import study_warnings
from spa.tables.options import TableOptions
from tests.spa.study_files import (
    HEAD,
    OUTPUTS,
    ROWS,
    SYSTEMS,
    long_rows,
    output_problems,
    outputs_of,
    write_rows,
    write_study,
)
from tests.spa.tiny_images import tiny_png

PNG = tiny_png()
WIDE = OUTPUTS + 'layout = "wide"\n'
NO_EMPTY = '[[outputs.filters]]\nfield = "output"\nmin_characters = 1\n'


def test_long_and_wide_say_the_same(tmp_path: Path) -> None:
    long = outputs_of(tmp_path, ROWS)
    wide_rows = [
        {"item_id": item.item_id, "x": long.of(item.item_id, "x")[0].text, "y": long.of(item.item_id, "y")[0].text}
        for item in long.items
    ]
    assert outputs_of(tmp_path, wide_rows, outputs=WIDE) == long


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_formats_say_the_same(tmp_path: Path, suffix: str) -> None:
    rows = [{**row, "output": f'{row["output"]} "quoted", and\nmore'} for row in ROWS]
    expected = outputs_of(tmp_path, rows)
    getattr(pl.DataFrame(rows), f"write_{suffix}")(tmp_path / f"other.{suffix}")
    parts = OUTPUTS.replace("outputs.jsonl", f"other.{suffix}")
    assert load_outputs(load_study(write_study(tmp_path, outputs=parts))) == expected


def test_ids_keep_their_spelling(tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_text("item_id,system,output\n001,x,a\n001,y,b\n1,x,c\n1,y,d\n", encoding="utf-8")
    from_csv = load_outputs(load_study(write_study(tmp_path, outputs=OUTPUTS.replace("outputs.jsonl", "o.csv"))))
    assert [item.item_id for item in from_csv.items] == ["001", "1"]
    numbers = outputs_of(tmp_path, [{"item_id": 7, "system": name, "output": "a"} for name in "xy"])
    assert [item.item_id for item in numbers.items] == ["7"]


def test_parquet_numbers_and_days_as_ids(tmp_path: Path) -> None:
    """Numbers and days of Parquet are ids as a reader writes them."""
    days = [datetime.datetime(2026, 1, day, tzinfo=datetime.UTC) for day in (2, 3)]
    frame = pl.DataFrame(
        [{"item_id": day, "number": 7, "system": name, "output": "a"} for day in days for name in "xy"]
    )
    frame.write_parquet(tmp_path / "o.parquet")
    outputs = OUTPUTS.replace("outputs.jsonl", "o.parquet") + 'item = ["item_id", "number"]\n'
    made = load_outputs(load_study(write_study(tmp_path, outputs=outputs)))
    assert [item.item_id for item in made.items] == ["2026-01-02/7", "2026-01-03/7"]


def test_texts_of_a_csv_file_are_read_as_they_are(tmp_path: Path) -> None:
    """Also one that begins as a formula that our own tables guard; a quoted empty cell is empty."""
    (tmp_path / "o.csv").write_text('item_id,output\ni,\'- so she said\nj,""\n', encoding="utf-8")
    rows = read_rows(tmp_path / "o.csv", ["output"], TableOptions()).rows
    assert [row.values["output"] for row in rows] == ["'- so she said", None]
    assert [row.place for row in rows] == [f"{tmp_path / 'o.csv'} row {number}" for number in (2, 3)]


def test_outputs_absent_column_beside_turns(tmp_path: Path) -> None:
    """A list of turns is told once beside a column that is absent."""
    turns = [{"role": "user", "content": "Hello"}]
    rows: list[dict[str, object]] = [
        {"item_id": f"i{n}", "system": name, "output": turns} for n in range(30) for name in "xy"
    ]
    assert output_problems(tmp_path, rows, outputs=OUTPUTS + 'item_text = "prompt"\n') == [
        'outputs.jsonl: expected column "prompt", got columns "item_id", "system", "output" in 60 rows; '
        "name the columns in [outputs] (item, system, output, sample, item_text, layout)",
        'outputs.jsonl line 1: "output": expected text, got a list (as in 59 more); '
        "name a text in it, such as output[-1].content",
    ]


def test_blank_lines_count_and_nan_is_nothing(tmp_path: Path) -> None:
    lines = [json.dumps(row) for row in ROWS]
    lines[1:2] = ["", " ", json.dumps({**ROWS[1], "output": float("nan")})]
    (tmp_path / "outputs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(StudyError, match=r'outputs.jsonl line 4: expected an output of "y", got an empty text'):
        load_outputs(load_study(write_study(tmp_path)))
    (tmp_path / "o.jsonl.gz").write_bytes(gzip.compress((tmp_path / "outputs.jsonl").read_bytes()))
    with pytest.raises(StudyError, match=r'o.jsonl.gz line 4: expected an output of "y", got an empty text'):
        load_outputs(load_study(write_study(tmp_path, outputs=OUTPUTS.replace("outputs.jsonl", "o.jsonl.gz"))))


def test_outputs_may_stand_at_an_address(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs extra cluster")
    expected = outputs_of(tmp_path, ROWS)
    memory = fsspec.filesystem("memory")
    memory.pipe("/outputs/o.jsonl", (tmp_path / "outputs.jsonl").read_bytes())
    study = load_study(write_study(tmp_path, outputs=OUTPUTS.replace("outputs.jsonl", "memory://outputs/o.jsonl")))
    assert load_outputs(study) == expected
    first = study_fingerprint(study)
    memory.pipe("/outputs/o.jsonl", b'{"item_id": 1}\n')
    assert study_fingerprint(study) != first
    with pytest.raises(
        StudyError, match=r'^memory://outputs/o.jsonl: expected columns "system", "output", got columns'
    ):
        load_outputs(study)
    memory.store.clear()
    with pytest.raises(StudyError, match=r"^memory://outputs/o.jsonl: cannot be read: FileNotFoundError"):
        load_outputs(study)


def test_several_columns_make_an_item(tmp_path: Path) -> None:
    rows = [{"reader": 1, "page": page, "x": "a", "y": "b"} for page in (1, 2)]
    made = outputs_of(tmp_path, rows, outputs=WIDE + 'item = ["reader", "page"]\n')
    assert [item.item_id for item in made.items] == ["1/1", "1/2"]


def test_samples_are_numbered_in_order(tmp_path: Path) -> None:
    rows = [
        {"item_id": "i", "system": system, "output": f"{system}{n}", "seed": n} for n in (10, 9, 2) for system in "xy"
    ]
    made = outputs_of(tmp_path, rows, outputs=OUTPUTS + 'sample = "seed"\n')
    assert [(one.sample, one.text) for one in made.of("i", "x")] == [(1, "x2"), (2, "x9"), (3, "x10")]
    assert made.output("i", "y", 2).text == "y9"
    told = output_problems(tmp_path, [*rows, rows[0]], outputs=OUTPUTS + 'sample = "seed"\n')
    assert told == [
        'outputs.jsonl line 1, outputs.jsonl line 7: expected each sample once, got "10" of "x" for item "i" again; '
        "renumber or remove one"
    ]


HOSTILE = [
    "<script>alert(1)</script>",
    "]]>",
    "{{7*7}}",
    "{% raw %}",
    "a" * 1_000_000,
    "\u202eright",
    "a\u2028b",
    "'\"`",
]


def test_hostile_texts_are_kept_as_they_are(tmp_path: Path) -> None:
    made = outputs_of(tmp_path, long_rows({f"i{n}": {"x": text, "y": "y"} for n, text in enumerate(HOSTILE)}))
    assert [made.of(item.item_id, "x")[0].text for item in made.items] == HOSTILE
    assert made.unreadable == {}


def test_what_no_page_can_show_is_replaced_and_counted(tmp_path: Path) -> None:
    texts = long_rows({"i": {"x": "a\x00b\x1b[0m", "y": "\ud800 \ufffe\r\nend"}})
    made = outputs_of(tmp_path, texts)
    assert made.of("i", "x")[0].text == "a\ufffdb\ufffd[0m"
    assert made.of("i", "y")[0].text == "\ufffd \ufffd\nend"
    assert made.unreadable == {("i", "x"): 2, ("i", "y"): 2}
    study = load_study(tmp_path / "study.toml")
    assert any("output of x: 2 unprintable characters are shown" in line for line in study_warnings(study, made))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example(text="\x0c")
@given(text=st.text(st.characters(), min_size=1, max_size=30))
def test_any_text_loads_or_is_told(tmp_path: Path, text: str) -> None:
    """Whatever a system wrote, it can be encoded afterwards, and only line ends and controls differ."""
    rows = long_rows({"i": {"x": text, "y": "y"}})
    if not cleaned(text).strip():  # a control character becomes a sign that can be seen
        assert "got an empty text" in output_problems(tmp_path, rows)[0]
        return
    made = outputs_of(tmp_path, rows).of("i", "x")[0].text
    assert made is not None
    assert made.encode()
    assert len(made) == len(text.replace("\r\n", "\n"))


SINGLE = '[likert]\npages = "output"\n[design]\noutputs = 3\n'


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_single_outputs_need_not_answer_every_item(tmp_path: Path, layout: str) -> None:
    rows: list[dict[str, object]] = [dict(row) for row in (*ROWS[:3], ROWS[5])]  # i0 by both, i1 by x, i2 by y
    parts = {"rest": SINGLE}
    if layout == "wide":
        parts["outputs"] = WIDE
        rows = [
            {"item_id": "i0", "x": "a", "y": "a"},
            {"item_id": "i1", "x": "c"},
            {"item_id": "i2", "x": None, "y": "d"},
        ]
    outputs = outputs_of(tmp_path, rows, **parts)
    assert list(outputs.cells) == [("i0", "x"), ("i0", "y"), ("i1", "x"), ("i2", "y")]
    assert outputs.of("i1", "y") == ()
    assert all(study_warnings(load_study(tmp_path / "study.toml"), outputs))  # they go through absent outputs too
    told = output_problems(tmp_path, rows, **{**parts, "rest": "[likert]\n"})
    assert {"long": 'none for item "i1" by "y", "i2" by "x"', "wide": 'an output of "y"'}[layout] in told[0]


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        (SINGLE.replace("3", "9"), "expected at least 9 outputs, as many as an annotator rates, got 4"),
        (SINGLE + '[[systems]]\nid = "z"\n', 'expected outputs of "z", got none; add some or remove the system'),
        (SINGLE + '[[raters]]\nid = "g"\nmodel = "m"\nreference = "y"\n', 'got none for item "i1" by "y"'),
    ],
)
def test_what_single_outputs_cannot_do_without(tmp_path: Path, rest: str, said: str) -> None:
    (told,) = output_problems(tmp_path, [*ROWS[:3], ROWS[5]], rest=rest)
    assert said in told


def test_empty_outputs_name_the_row_and_the_way_out(tmp_path: Path) -> None:
    rows = [*ROWS, *long_rows({"empty": {"x": " \n", "y": "y"}})]
    assert output_problems(tmp_path, rows) == [
        'outputs.jsonl line 13: expected an output of "x", got an empty text; fill it in, or [[outputs.filters]] '
        'field = "output" min_characters = 1 leaves such items out'
    ]
    made = outputs_of(tmp_path, rows, outputs=OUTPUTS + NO_EMPTY)
    assert [(one.item_id, one.rule) for one in made.dropped] == [("empty", "min_characters")]
    assert made.dropped[0].evidence == "output of x: 0 characters, expected at least 1"
    assert len(made.items) == 6


def test_mistakes_in_rows_are_told_together(tmp_path: Path) -> None:
    rows = [
        *ROWS,
        {"item_id": "i0", "system": "x", "output": "again"},
        {"item_id": "i9", "system": "X1", "output": "?"},
    ]
    told = "\n".join(output_problems(tmp_path, rows))
    assert 'outputs.jsonl line 14: expected the id of a system, got "X1" (1 row); did you mean "x"?' in told
    assert 'outputs.jsonl line 1, outputs.jsonl line 13: expected one output of "x" for item "i0", got 2' in told
    wanted = "outputs.jsonl: expected an output of every system for every item"
    assert f'{wanted}, got none for item "i9" by "x", "i9" by "y"' in told


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"item_id": "", "system": "x", "output": "a"}, 'expected an item id in column "item_id", got nothing'),
        ({"item_id": "NaN", "system": "x", "output": "a"}, 'in column "item_id", got "NaN", a missing value'),
        ({"item_id": True, "system": "x", "output": "a"}, '"item_id": expected text, got true or false'),
        ({"item_id": "q", "system": "x", "output": ["a"]}, '"output": expected text, got a list'),
        ({"item_id": "q", "system": "x", "output": 5}, 'expected the output of "x" as text, got the number 5'),
        ({"item_id": "q", "system": "", "output": "a"}, "expected the id of a system, got nothing"),
    ],
)
def test_a_bad_row_is_told_by_its_line(tmp_path: Path, row: dict[str, object], said: str) -> None:
    told = output_problems(tmp_path, [*ROWS, row])
    assert any(line.startswith("outputs.jsonl line 13") and said in line for line in told)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("o.jsonl", b"", "expected rows of outputs, got none"),
        ("o.jsonl", b"[1]\n", "line 1: expected one JSON object, got a list; if the file is one array, call it .json"),
        ("o.jsonl", b"\n{\n", "line 2: expected one JSON object, got a mistake"),
        ("o.jsonl", b'{"a": 1, "a": 2}\n', 'expected each key once, got "a" twice'),
        ("o.jsonl", b"[" * 100_000, "line 1: expected one JSON object"),
        ("o.jsonl", b'{"a": "\xff"}\n', "line 1: expected UTF-8, got the byte 0xff"),
        (
            "o.jsonl",
            b'{"id": "1", "text": "a"}\n',
            'expected columns "item_id", "system", "output", got columns "id", "te',
        ),
        ("o.csv", "item_id,system\n1,x\n".encode("utf-16-le"), "o.csv line 1: expected UTF-8, got a NUL byte"),
        ("o.csv", b"", "expected rows of outputs, got none"),
        (
            "o.csv",
            b"item_id,system,output,output\n1,x,a,b\n",
            "column output stands in the header twice; remove or rename one",
        ),
        (
            "o.csv",
            b'item_id,system,output\n1,x,"two\nlines"\n2,x,a,b\n',
            "line 4: expected 3 values, got 4, more fields than the header",
        ),
        (
            "o.csv",
            b'item_id,system,output\n1,x,a\n2,x,"b\n',
            "line 3: expected CSV, got a double quote that never closes",
        ),
        ("o.csv", b"item_id,system,output\n1,x,\xe9\n", "line 2: expected UTF-8"),
        ("o.csv", b"item_id,system,output\n", "expected rows of outputs, got none"),
        ("o.parquet", b"PAR1", "cannot be read as parquet"),
        (
            "o.txt",
            b"a",
            "expected a file ending in .csv, ",
        ),
    ],
)
def test_unreadable_files_are_one_line(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    study = load_study(write_study(tmp_path, outputs=OUTPUTS.replace("outputs.jsonl", name)))
    with pytest.raises(StudyError) as caught:
        load_outputs(study)
    assert len(caught.value.problems) == 1
    assert said in caught.value.problems[0]


def test_item_texts_must_agree(tmp_path: Path) -> None:
    with_source = OUTPUTS + 'item_text = "source"\n'
    assert outputs_of(tmp_path, ROWS, outputs=with_source).item("i0").text == "source of i0"
    told = output_problems(tmp_path, [*ROWS[:-1], {**ROWS[-1], "source": "other"}], outputs=with_source)
    assert told == [
        'outputs.jsonl line 12: expected the same "source" for all rows of item "i5", got another than in '
        "outputs.jsonl line 11; make them equal"
    ]


IMAGES = OUTPUTS + 'kind = "image"\n'


def test_images_are_found_beside_their_outputs_file(tmp_path: Path) -> None:
    for name in "xy":
        (tmp_path / f"{name}.png").write_bytes(PNG)
    rows = [{"item_id": "i", "system": name, "output": f"{name}.png"} for name in "xy"]
    made = outputs_of(tmp_path, rows, outputs=IMAGES)
    assert made.of("i", "x")[0].file == tmp_path.resolve() / "x.png"
    assert made.of("i", "x")[0].text is None


@pytest.mark.parametrize("file", ["none.png", ".", "n" * 300, "a\0b", "svg.png", ""])
def test_what_is_no_image_is_one_line(tmp_path: Path, file: str) -> None:
    (tmp_path / "x.png").write_bytes(PNG)
    (tmp_path / "svg.png").write_text("<svg onload='alert(1)'/>", encoding="utf-8")
    rows = [{"item_id": "i", "system": "x", "output": "x.png"}, {"item_id": "i", "system": "y", "output": file}]
    (problem,) = output_problems(tmp_path, rows, outputs=IMAGES)
    assert problem.startswith("outputs.jsonl line 2: expected ")


@pytest.mark.parametrize(
    "file", ["../outside.png", "{outside}", "{inside}", "led-out.png", "led/outside.png", "loop.png"]
)
def test_no_image_leaves_the_folder_of_the_study(tmp_path: Path, file: str) -> None:
    """Neither by its path nor over a symbolic link; what the study file itself names may lie anywhere."""
    folder, outside = tmp_path / "study", tmp_path / "outside.png"
    folder.mkdir()
    for image in (outside, folder / "x.png"):
        image.write_bytes(PNG)
    (folder / "led-out.png").symlink_to(outside)
    (folder / "led").symlink_to(tmp_path)
    (folder / "loop.png").symlink_to("loop.png")
    name = file.format(outside=outside, inside=folder / "x.png")
    rows = [{"item_id": "i", "system": "x", "output": "x.png"}, {"item_id": "i", "system": "y", "output": name}]
    (problem,) = output_problems(folder, rows, outputs=IMAGES)
    assert problem.startswith("outputs.jsonl line 2: expected an image")


def test_images_lie_in_the_study_or_beside_their_outputs_file(tmp_path: Path) -> None:
    study, elsewhere = tmp_path / "study", tmp_path / "elsewhere"
    for folder, images in ((study / "data", study), (elsewhere, elsewhere)):
        folder.mkdir(parents=True)
        (images / "x.png").write_bytes(PNG)
        path = "../x.png" if images is study else "x.png"
        write_rows(folder / "o.jsonl", [{"item_id": "i", "system": name, "output": path} for name in "xy"])
        outputs = IMAGES.replace("outputs.jsonl", str(folder / "o.jsonl"))
        made = load_outputs(load_study(write_study(study, outputs=outputs)))
        assert made.of("i", "x")[0].file == folder / path


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_byte_order_mark_is_no_mistake(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame(ROWS)
    frame.write_csv(tmp_path / "o.csv")
    frame.write_ndjson(tmp_path / "o.jsonl")
    path = tmp_path / f"o.{suffix}"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    study = load_study(write_study(tmp_path, outputs=OUTPUTS.replace("outputs.jsonl", path.name)))
    assert load_outputs(study) == outputs_of(tmp_path, ROWS)


@pytest.mark.parametrize(
    ("condition", "text", "rule"),
    [
        ({"starts_with": "[WP]"}, "[WP] A prompt.", None),
        ({"starts_with": "[WP]"}, "A prompt.", "starts_with"),
        ({"contains_none_of": ["</p>", "http"]}, "see http://x", "contains_none_of"),
        ({"ends_in_punctuation": True}, "He said “no.”  ", None),
        ({"ends_in_punctuation": True}, "没有句号", "ends_in_punctuation"),
        ({"ends_in_punctuation": True}, "有句号。", None),
        ({"min_words": 3}, "one two", "min_words"),
        ({"min_words": 3}, "三个字", None),
        ({"max_words": 3}, "It's a well-known fact.", "max_words"),
        ({"max_characters": 3}, "  abc  ", None),
        ({"min_characters": 1}, " \n", "min_characters"),
    ],
)
def test_filters(condition: dict[str, object], text: str, rule: str | None) -> None:
    found = failures(OutputFilter.model_validate(condition), text)
    assert next((name for name, _ in found), None) == rule


@pytest.mark.parametrize(
    ("rest", "wanted"),
    [
        ("[spa]\nexposure = 7\n", 7),
        ("[spa]\nexposure = 4\nsame_items = false\n", 8),
        ('[spa.exposure_study]\nsystem_x = "x"\nsystem_y = "y"\n', 15),
        ("[likert]\n[design]\nitems = 9\n", 9),
    ],
)
def test_there_must_be_enough_items(tmp_path: Path, rest: str, wanted: int) -> None:
    (problem,) = output_problems(tmp_path, ROWS, rest=rest)
    assert problem.startswith(f"outputs.jsonl: expected at least {wanted} items, as many as an annotator reads, got 6;")


def test_stories_of_the_published_study(tmp_path: Path, shared_data: Path) -> None:
    """750 pages of five writers; one human text is empty and takes its page with it."""
    systems = "".join(f'[[systems]]\nid = "{name}"\n' for name in ("ada", "babbage", "curie", "davinci", "human"))
    files = f'[outputs]\nfiles = ["{shared_data / "spa_gpt3" / "stories.jsonl"}"]\nlayout = "wide"\n'
    columns = 'item = ["reader_id", "prompt_index"]\nitem_text = "prompt"\n'
    study = load_study(write_study(tmp_path, outputs=files + columns, systems=systems, rest="[spa]\n"))
    with pytest.raises(StudyError, match=r'stories.jsonl line 552: expected an output of "human", got an empty text'):
        load_outputs(study)
    study = load_study(write_study(tmp_path, outputs=files + columns + NO_EMPTY, systems=systems, rest="[spa]\n"))
    made = load_outputs(study)
    assert len(made.items) == 749
    assert [one.item_id for one in made.dropped] == ["110/2"]
    filters = "[[outputs.filters]]\nends_in_punctuation = true\n"  # as the paper's, beside [WP], which is not there
    study = load_study(
        write_study(tmp_path, outputs=files + columns + NO_EMPTY + filters, systems=systems, rest="[spa]\n")
    )
    assert [one.item_id for one in load_outputs(study).dropped] == ["110/2"]
    first = json.loads((shared_data / "spa_gpt3" / "stories.jsonl").read_text(encoding="utf-8").split("\n")[0])
    assert made.of("0/1", "human")[0].text == first["human"].replace("\r\n", "\n")


def test_images_of_the_published_study(tmp_path: Path, shared_data: Path) -> None:
    files = f'[outputs]\nfiles = ["{shared_data / "spa_dalle" / "manifest.jsonl"}"]\nkind = "image"\n'
    columns = 'item = "prompt_id"\noutput = "file"\nsample = "sample"\nitem_text = "prompt"\n'
    rest = '[spa.exposure_study]\nsystem_x = "raw"\nsystem_y = "scrambled"\n'
    systems = SYSTEMS.replace('"x"', '"raw"').replace('"y"', '"scrambled"')
    study = load_study(write_study(tmp_path, head=HEAD, outputs=files + columns, systems=systems, rest=rest))
    made = load_outputs(study)
    assert len(made.items) == 15
    assert all(len(made.of(item.item_id, one.id)) == 4 for item in made.items for one in study.systems)
    assert all(output.file is not None and output.file.is_file() for output in made.all())


def test_outputs_csv_with_doubtful_quotes(tmp_path: Path) -> None:
    """A CSV whose quotes are in doubt is refused until the study says."""
    (tmp_path / "o.csv").write_text('item_id,system,output\n1,x,"Hallo\n1,y,b\n2,x,Welt"\n2,y,d\n')
    outputs = OUTPUTS.replace("outputs.jsonl", "o.csv")
    with pytest.raises(StudyError, match="line 2: expected a quoted cell or a row"):
        load_outputs(load_study(write_study(tmp_path, outputs=outputs)))
    study = load_study(write_study(tmp_path, outputs=outputs + '\nquotes = "text"\n'))
    options = study.outputs.options()
    assert options.quotes == "text"
    rows = read_rows(tmp_path / "o.csv", ["output"], options).rows
    assert [row.values["output"] for row in rows] == ['"Hallo', "b", 'Welt"', "d"]
