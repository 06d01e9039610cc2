"""What is known of each output beside its answers: length, Markdown marks, columns of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from analysis.answers.columns import Check
from spa.records.covariates import LENGTH, MARKDOWN, control_column

if TYPE_CHECKING:
    from spa.records.assignment import Assignment, BlindingKey
    from spa.records.outputs import Outputs
    from spa.records.study import Study

WORD_COUNT, CHARACTERS = "words", "characters"
MARKS: Final = ("headings", "lists", "bold")
COLUMN = "column:"  # before the name of a column of numbers
OUTPUT = ("item_id", "system", "sample")
TEXTS = ("text", "output")  # what the column of texts is called
LENGTHS = frozenset("length words characters chars tokens n_words n_characters n_chars n_tokens word_count".split())
IN_CHARACTERS = frozenset("characters chars n_characters n_chars".split())
_CODE = r"(?ms)^ {0,3}```.*?(?:^ {0,3}```|\z)"
_MARK = {
    "headings": r"(?m)^ {0,3}#{1,6}[ \t]+\S",
    "lists": r"(?m)^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\S",
    "bold": r"\*\*[^*\n]+\*\*|\b__[^_\n]+__\b",
}


def check_outputs(check: Check, columns: Sequence[str]) -> None:
    """Read a table of outputs: count what their texts hold, take ``columns`` as numbers, forget the texts."""
    for column in OUTPUT[:2]:
        check.names(column)
    if "sample" not in check.frame.columns:
        check.frame = check.frame.with_columns(sample=pl.lit(None, dtype=pl.String))
    check.blank(["sample"])
    check.refuse(pl.struct(OUTPUT).is_duplicated(), "item_id", "expected one row an output (item, system and sample)")
    absent = [name for name in columns if name not in check.frame.columns]
    text = next((name for name in TEXTS if name in check.frame.columns), None)
    if absent or not (text or columns):
        lacking = ", ".join(absent) or " or ".join(TEXTS)
        check.problems.append(f"{check.place}: expected column {lacking}, got none; add it, or name another to --hold")
        return
    for name in columns:
        check.number(name, COLUMN + name)
    counted = [] if text is None else list(counts_of(pl.col(text)))
    found = [pl.col(COLUMN + name) for name in columns]
    check.frame = check.frame.select(*(pl.col(name).cast(pl.String) for name in OUTPUT), *counted, *found)


def counts_of(text: pl.Expr) -> Iterator[pl.Expr]:
    r"""Yield how many words, characters and Markdown marks a text has; marks within blocks of code are none.

    Words are counted as :func:`spa.media.words.count_words` does. A mark is a heading (``#``), an item of a list, or a
    bold part.

    >>> frame = pl.DataFrame({"text": ["# Tea\n\n- **boil** water\n- add tea"]})
    >>> frame.select(*counts_of(pl.col("text"))).row(0)
    (5.0, 33.0, 1.0, 2.0, 1.0)
    """
    whole = text.cast(pl.String).fill_null("")
    known = text.is_not_null()
    plain = whole.str.replace_all(_CODE, "")
    counts = {
        WORD_COUNT: _words(whole),
        CHARACTERS: whole.str.len_chars(),
        **{name: plain.str.count_matches(pattern) for name, pattern in _MARK.items()},
    }
    for name, count in counts.items():
        yield pl.when(known).then(count.cast(pl.Float64)).alias(name)


def _words(text: pl.Expr) -> pl.Expr:
    """Return the words of texts, as :func:`spa.media.words.count_words` counts them."""
    from spa.media.words import CJK, LETTERS_A_WORD, SPACED_WORD  # loads all media: tables of answers need none

    bare = text.str.normalize("NFC").str.replace_all(r"[\p{M}\x{200c}\x{200d}]", "")
    letters = [(bare.str.count_matches(f"[{script}]"), rate) for script, rate in LETTERS_A_WORD.items()]
    unspaced = [pl.when(number > 0).then((number / rate).round().clip(1)).otherwise(0.0) for number, rate in letters]
    return pl.sum_horizontal(bare.str.count_matches(SPACED_WORD), bare.str.count_matches(f"[{CJK}]"), *unspaced)


def features_of(
    outputs: pl.DataFrame | None, metrics: pl.DataFrame | None, columns: Sequence[str]
) -> pl.DataFrame | None:
    """Return some columns of what is known of outputs, of a table of them or else of metrics with a value an output."""
    found = [] if outputs is None else [outputs]
    there = {name for one in found for name in one.columns}
    if metrics is not None:
        wide = _of_metrics(metrics, [name for name in columns if name not in there])
        found += [] if wide is None else [wide]
    if not found:
        return None
    if len(found) == 1:
        return found[0]
    return found[0].join(
        found[1].drop("sample"), on=OUTPUT[:2], how="full", coalesce=True, nulls_equal=True, maintain_order="left"
    )


def _of_metrics(metrics: pl.DataFrame, wanted: Sequence[str]) -> pl.DataFrame | None:
    """Return metrics that give some columns; of several of length the one first in the table."""
    own = metrics.filter(pl.col("value").is_not_null()).select(
        pl.col("item_id", "system", "metric").cast(pl.String), "value"
    )
    names = own["metric"].unique(maintain_order=True).to_list()
    lengths = [name for name in names if name.lower() in LENGTHS]
    columns = {COLUMN + name: name for name in names}
    if lengths:
        columns[WORD_COUNT] = lengths[0]
    if characters := [name for name in lengths if name.lower() in IN_CHARACTERS]:
        columns[CHARACTERS] = characters[0]
    frames = [
        own.filter(pl.col("metric") == name).select("item_id", "system", pl.col("value").alias(column))
        for column, name in columns.items()
        if column in wanted
    ]
    if not frames:
        return None
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.join(frame, on=OUTPUT[:2], how="full", coalesce=True, maintain_order="left")
    return whole.with_columns(sample=pl.lit(None, dtype=pl.String))


def lengths_of(features: pl.DataFrame | None) -> pl.DataFrame | None:
    """Return the length of each output, the mean of its samples."""
    if features is None or WORD_COUNT not in features.columns:
        return None
    known = features.drop_nulls(WORD_COUNT)
    if known.is_empty():
        return None
    return known.group_by("item_id", "system", maintain_order=True).agg(pl.col(WORD_COUNT).mean().alias("length"))


def covariates_of(control: str) -> tuple[str, ...]:
    """Return the columns of :func:`features_of` that a control is made of."""
    if control == LENGTH:
        return (WORD_COUNT,)
    if control == MARKDOWN:
        return MARKS
    return (COLUMN + (control_column(control) or ""),)


def study_outputs(study: Study, outputs: Outputs) -> pl.DataFrame | None:
    """Return the outputs of a study as a table, where its analysis controls for something of them."""
    if not study.analysis.control:
        return None
    rows = [
        {"item_id": one.item_id, "system": one.system, "sample": str(one.sample), "text": one.text, **dict(one.numbers)}
        for one in outputs.of_compared(study)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def outputs_read(drawn: Iterable[tuple[Assignment, BlindingKey]]) -> pl.DataFrame:
    """Return which outputs of each system an assignment shows before it asks, a row each."""
    rows = [
        (assignment.assignment_id, block.exposure, key.systems[one.label], one.item_id, str(one.sample))
        for assignment, key in drawn
        for block in assignment.blocks
        for one in block.shown
    ]
    columns = {"assignment_id": pl.String, "exposure": pl.Int64, "system": pl.String, "item_id": pl.String}
    return pl.DataFrame(rows, schema={**columns, "sample": pl.String}, orient="row")
