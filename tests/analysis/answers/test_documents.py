"""Items that are segments of documents: which ids and columns say so, and what the caveat's options do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis import Plan, Reading
from analysis import analyse as analyse_records
from analysis.answers.documents import stems_of
from analysis.answers.tables import AnswerTables, check_frames, read_tables
from tests.analysis.made_answers import check, choices, ratings

PUBLISHED = Path(__file__).parents[3].parent / "shared" / "cases" / "published" / "segments_of_documents"
SEGMENTS = {
    "hash": "doc{d}#{s}",
    "word": "doc{d}_seg{s}",
    "word apart": "doc{d}_seg_{s}",
    "colon": "doc{d}:{s}",
    "dot": "talk {d}.{s}",
    "numbers": "{d}-{s}",
    "no separator": "d{d}s{s}",
    "names": "{n}_{s}",
    "dataset": "wmt20-{d}#{s}",
    "turns": "dialogue/{d}/turn{s}",
    "zeros": "{n}-000{s}",
}
OTHERS = {
    "running": "item{i}",
    "underscore": "item_{i}",
    "p": "p{i}",
    "numbers": "{i}",
    "floats": "{i}.0",
    "one stem": "wmt20#{i}",
    "address": "https://example.org/texts/{i}",
    "systems after it": "story_{i}_human",
    "one member": "doc{i}#1",
    "dates": "2024-{d}-{s}",
    "languages": "en-d{n}-{s}",
    "hashes": "{h}",
    "identifiers": "{u}",
    "questions": "q{i}",
    "long numbers": "{d}-10000{i}00",
}


def ids(shape: str, documents: int = 4, segments: int = 5) -> list[str]:
    rng = np.random.default_rng(5)
    found = []
    for place in range(documents * segments):
        hexadecimal = rng.bytes(16).hex()
        parts = [hexadecimal[:8], hexadecimal[8:12], hexadecimal[12:16], hexadecimal[16:20], hexadecimal[20:]]
        number = place // segments
        found.append(
            shape.format(
                d=number + 1, s=place % segments + 1, i=place + 1, n="abcd"[number], h=hexadecimal, u="-".join(parts)
            )
        )
    return found


@pytest.mark.parametrize("shape", SEGMENTS.values(), ids=SEGMENTS)
def test_ids_of_segments_share_their_documents_stem(shape: str) -> None:
    items = ids(shape)
    found = stems_of(items)
    assert found is not None
    assert sorted(found[0].values()) == [5, 5, 5, 5]
    assert found[1] == (items[0], items[1])


@pytest.mark.parametrize("shape", OTHERS.values(), ids=OTHERS)
def test_other_ids_do_not(shape: str) -> None:
    assert stems_of(ids(shape)) is None


def test_a_few_other_ids_among_them_change_nothing() -> None:
    items = ids("doc{d}#{s}")
    assert stems_of([*items, "title", "end"]) is not None
    assert stems_of([*items, *(f"other {letter}" for letter in "abcdef")]) is None
    assert stems_of([f"doc{number}#1" for number in range(12)] + ["doc1#2"]) is None


def caveats(tables: AnswerTables) -> list[str]:
    found = analyse_records(tables, Plan())
    texts = [row.text for row in found.warning_rows if row.kind == "documents"]
    assert [one.text for one in found.headline.problems if one.kind == "documents"] == texts
    return texts


def rated(items: list[str], **columns: object) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    rows = [(who, item, system, int(rng.integers(1, 6))) for item in items for who in "ab" for system in "xy"]
    long = {name: [value for value in own for _ in range(4)] for name, own in columns.items()}  # type: ignore[attr-defined]
    return ratings(rows, **long)


def test_the_caveat_names_the_options_for_ratings_and_choices() -> None:
    items = ids("doc{d}#{s}")
    (text,) = caveats(check(ratings=rated(items)))
    assert text.startswith("20 items come from 4 documents by their ids (doc1#1 and doc1#2 from one)")
    assert "--map item_id=sample --map COLUMN=item_id" in text
    (text,) = caveats(check(choices=choices([(who, item, "x", "y", "x") for item in items for who in "ab"])))
    assert "4 documents" in text
    assert caveats(check(ratings=rated(ids("item{i}")))) == []


@pytest.mark.parametrize("name", ["document", "doc_id", "Passage", "talk", "story"])
def test_an_unused_column_of_documents_is_named(name: str) -> None:
    items, documents = ids("{i}"), [str(place // 5) for place in range(20)]
    (text,) = caveats(check(ratings=rated(items, **{name: documents})))
    assert f"by the column {name} (1 and 2 from one)" in text
    assert f"--map item_id=sample --map {name}=item_id" in text
    (text,) = caveats(check(ratings=rated(items, **{name: documents, "segment": items})))
    assert f"--map item_id=old --map {name}=item_id --map segment=sample" in text


def test_a_column_that_groups_no_items_is_none() -> None:
    items = ids("{i}")
    assert caveats(check(ratings=rated(items, document=items))) == []
    assert caveats(check(ratings=rated(items, document=["one"] * 20))) == []
    several = [(who, item, system, 3 + (item == "1")) for item in items for who in "ab" for system in "xy"]
    texts = [f"text {place % 4}" for place in range(len(several))]  # of the output, not of the item
    assert caveats(check(ratings=ratings(several, story=texts))) == []


def test_ids_that_name_outputs_are_no_segments() -> None:
    """Each belongs to one system: what comes after the stem is the system's number."""
    rows = [
        (who, f"prompt{item}_{side}", system, 3)
        for item in range(9)
        for side, system in enumerate("xy")
        for who in "ab"
    ]
    assert caveats(check(ratings=ratings([(*row[:3], place % 5) for place, row in enumerate(rows)]))) == []


def test_with_the_options_the_document_is_the_item() -> None:
    rng = np.random.default_rng(2)
    rows, document, difference = list[tuple[str, str, str, object]](), list[str](), np.zeros((5, 8))
    for one in range(5):
        luck = rng.normal(0, 9)
        for segment in range(8):
            score = [50 + rng.normal(0, 5) + luck, 50 + rng.normal(0, 5)]
            rows += [
                (f"a{segment % 3}", f"d{one}-{segment}", system, own) for system, own in zip("xy", score, strict=True)
            ]
            document += [f"d{one}"] * 2
            difference[one, segment] = score[0] - score[1]
    frame = ratings(rows, document=document)
    reading = Reading(mapping={"item_id": "sample", "document": "item_id"})
    found = analyse_records(check_frames({"ratings": frame}, reading), Plan())
    (row,) = found.ratings.pairs
    by_annotator = np.stack([difference[:, who::3].mean(axis=1) for who in range(3)], axis=1).mean(axis=1)
    assert (row.unit, row.n) == ("item", 5)
    assert row.p_value == pytest.approx(stats.ttest_1samp(by_annotator, 0).pvalue)
    assert not [one for one in found.warning_rows if one.kind == "documents"]
    assert [one.kind for one in analyse_records(check(ratings=frame), Plan()).warning_rows].count("documents") == 1


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_documents_columns_of_files(tmp_path: Path, kind: str) -> None:
    """Columns of files are seen and lists in them are left alone."""
    frame = rated(ids("{i}"), document=[str(place // 5) for place in range(20)])
    path = tmp_path / f"ratings.{kind}"
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[kind](path)
    assert len(caveats(read_tables({"ratings": path}, Reading()))) == 1
    if kind != "csv":
        lists = frame.with_columns(document=pl.concat_list("document"))
        {"jsonl": lists.write_ndjson, "parquet": lists.write_parquet}[kind](path)
        assert caveats(read_tables({"ratings": path}, Reading())) == []


def test_the_published_shape_is_six_documents() -> None:
    if not (file := PUBLISHED / "ratings.csv").is_file():
        pytest.skip("the data are not here")

    def pair(**mapping: str) -> Any:
        tables = read_tables({"ratings": file}, Reading(mapping=mapping))
        return analyse_records(tables, Plan()).ratings.pairs[0], caveats(tables)

    row, texts = pair()
    assert (row.n, len(texts)) == (120, 1)
    row, texts = pair(item_id="old", document="item_id", segment="sample")
    assert (row.n, texts) == (6, [])
    assert row.mean_difference == pytest.approx(4.6417, abs=1e-4)
    assert row.p_value == pytest.approx(0.2829, abs=1e-4)
