"""Items that look like segments of documents: told by a column that nobody used, or by ids with a common stem."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis.statistics.coding import FEW, constant, fold, number
from spa.errors import shortened

NAMES = ("document", "document_id", "doc", "doc_id", "passage", "passage_id", "talk", "talk_id", "story")
DOCUMENT_COLUMNS = frozenset((*NAMES, *map(str.capitalize, NAMES)))
SEGMENT = "segment"
GROUPING = DOCUMENT_COLUMNS | {SEGMENT}  # read to tell documents, and not kept
DIVIDED = (0.9, 0.5)  # least shares of the ids that end in a number, and that share their stem with another
WORD = r"(?:seg(?:ment)?|sent(?:ence)?|line|turn|utt|par(?:agraph)?|chunk|part|s|l|q|p)"
NUMBERED = re.compile(r"(?P<stem>.*[^\W_].*?)(?:[^\w\s]|[_\s])+(?P<word>[^\W\d_]{1,12})?(?P<number>\d{1,5})")
JOINED = re.compile(rf"(?P<stem>.*\d)(?P<word>{WORD})(?P<number>\d{{1,5}})", re.IGNORECASE)
NO_STEM = re.compile(r"(?:19|20)\d\d(?:[-./_ ]\d{1,2})?|[A-Za-z]{2,3}[-_>]+[A-Za-z]{2,3}")  # dates, languages


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """What says that items are segments: a ``column``, or ``None``: the stems of their ids.

    ``examples`` are two items of one document; ``segmented`` says that the table has a column ``segment``.
    """

    column: str | None
    n_items: int
    n_documents: int
    examples: tuple[str, str]
    segmented: bool


def stem_of(item: str) -> tuple[str, str] | None:
    """Return what stands before the running number of an id, and the word before the number.

    >>> stem_of("doc1#2"), stem_of("doc1_seg3"), stem_of("talk.3"), stem_of("d12s3"), stem_of("item7")
    (('doc1', ''), ('doc1', 'seg'), ('talk', ''), ('d12', 's'), None)
    """
    found = NUMBERED.fullmatch(item) or JOINED.fullmatch(item)
    if found is None or NO_STEM.fullmatch(found["stem"]):
        return None
    return found["stem"], (found["word"] or "").lower()


def stems_of(items: Iterable[str]) -> tuple[Counter[str], tuple[str, str]] | None:
    """Count the items by stem and give two of one stem, where the ids look like those of segments of documents.

    So they do where nine tenths of them end in a number after a separator, all after the same word if any ("seg3"),
    there are several stems, and at least half of the items share theirs with another. Plain running numbers, one stem
    for all ("item1"), hashes, dates and ids with one member a stem do not.
    """
    ids = list(dict.fromkeys(items))
    split: dict[str, tuple[str, str]] = {}
    words, plain = set[str](), 0
    for item in ids:
        found = stem_of(item)
        if found is None:
            plain += 1
        else:
            split[item] = found
            words.add(found[1])
        if len(words) > 1 or len(ids) - plain < DIVIDED[0] * len(ids):
            return None  # whatever the others are
    if not words:
        return None
    stems = Counter(stem for stem, _ in split.values())
    if len(stems) < 2 or sum(n for n in stems.values() if n > 1) < DIVIDED[1] * len(ids):
        return None
    largest = max(stems, key=lambda stem: stems[stem])
    first, second = [item for item, (stem, _) in split.items() if stem == largest][:2]
    return stems, (first, second)


def find_documents(table: pl.DataFrame, columns: Mapping[str, pl.Series]) -> Documents | None:
    """Tell whether the items of a table of answers are segments of documents.

    Parameters
    ----------
    table : DataFrame
        Has ``item_id``, and ``system`` where single outputs were judged.
    columns : mapping of str to Series
        Unused columns of the table with the names in ``DOCUMENT_COLUMNS``, and ``segment`` if there is one.
    """
    if "item_id" not in table.columns:
        return None
    rows = table.select(name for name in ("item_id", "system") if name in table.columns).with_columns(
        pl.Series(f"document:{name}", column) for name, column in columns.items() if name != SEGMENT
    )
    rows = rows.drop_nulls("item_id") if rows["item_id"].has_nulls() else rows
    items = rows["item_id"].unique(maintain_order=True).cast(pl.String)
    if "system" in rows.columns and not constant(rows["system"]):
        if _of_one_system(rows[:FEW]) and _of_one_system(rows):
            return None  # each id names an output, and its stem the item
    segmented = SEGMENT in columns
    for name in columns:
        if name == SEGMENT:
            continue
        first = np.sort(fold(number(rows["item_id"]), number(rows[f"document:{name}"])).first)
        pairs = rows[first].select(item_id=pl.col("item_id").cast(pl.String), document=pl.col(f"document:{name}"))
        found = _grouped(pairs.with_columns(pl.col("document").cast(pl.String)))
        if found is not None:
            n_documents, examples = found
            return Documents(
                column=name, n_items=len(items), n_documents=n_documents, examples=examples, segmented=segmented
            )
    stems = stems_of(items.to_list())
    if stems is None:
        return None
    return Documents(column=None, n_items=len(items), n_documents=len(stems[0]), examples=stems[1], segmented=segmented)


def _of_one_system(rows: pl.DataFrame) -> bool:
    """Return whether each item belongs to one system."""
    item, system = number(rows["item_id"]), number(rows["system"])
    of_item = np.zeros(int(item.max(initial=0)) + 1, dtype=system.dtype)
    of_item[item] = system  # the last one stays
    return np.array_equal(of_item[item], system)


def _grouped(rows: pl.DataFrame) -> tuple[int, tuple[str, str]] | None:
    """Return how many documents there are, and two items of one; ``None`` where a column does not group items."""
    pairs = rows.drop_nulls("document").unique(maintain_order=True)
    if pairs["item_id"].is_duplicated().any() or pairs["item_id"].n_unique() < rows["item_id"].n_unique():
        return None
    members = pairs.group_by("document", maintain_order=True).agg("item_id")
    several = members.filter(pl.col("item_id").list.len() > 1)
    if members.height < 2 or not several.height:
        return None
    first, second = several["item_id"][0].to_list()[:2]
    return members.height, (first, second)


def advice(documents: Documents) -> str:
    """Say what to do: the options that make the document the item, and the segment its sample."""
    name = documents.column or "COLUMN"
    old = "--map item_id=old" if documents.segmented else "--map item_id=sample"
    new = f" --map {SEGMENT}=sample" if documents.segmented else ""
    own = "" if documents.column else "put the document in a column of its own and "
    return f"{own}make the document the item and the segment its sample ({old} --map {name}=item_id{new})"


def documents_words(documents: Documents) -> str:
    """Word the caveat."""
    by = f"the column {documents.column}" if documents.column else "their ids"
    first, second = (shortened(one, 30) for one in documents.examples)
    return (
        f"{documents.n_items:,} items come from {documents.n_documents:,} documents by {by} ({first} and {second} from "
        "one), but count as independent, so that tests find differences too often. If so, "
        f"{advice(documents)}."
    )
