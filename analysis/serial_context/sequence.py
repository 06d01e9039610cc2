"""Who rated what in which order: the answers of one group and criterion, laid along each form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
import polars as pl

from analysis.statistics.coding import Floats, Ints, code, fold

FORM: Final = ("annotator_id", "assignment_id")
OUTPUT: Final = ("item_id", "system", "sample")
POSITION: Final = pl.col("position").cast(pl.String).cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
MOST_PAIRS = 300  # of forms, whose orders are compared
MOST_TRIED = 100_000  # pairs of forms among which these are looked for: forms of many people may share nothing
RANDOM = 0.1  # share of the outputs of two forms that stand the other way round, below which there is one order
BLOCK = 3  # outputs of each system, from which on a run of them is no chance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sequence:
    """Answers in the order in which each form asked for them: one row an answer, forms one after another."""

    annotator: Ints
    form: Ints
    output: Ints
    system: Ints
    place: Ints
    """From 0 along the form."""
    value: Floats
    annotators: tuple[str, ...] = ()
    """The id of each number."""

    def __len__(self) -> int:
        return len(self.value)

    def rows(self, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Sequence:
        """Return some of the answers, in the places where they stand."""
        own = {name: getattr(self, name)[kept] for name in self.__slots__ if name != "annotators"}
        return Sequence(**own, annotators=self.annotators)


def with_places(ratings: pl.DataFrame, reading: pl.DataFrame | None) -> pl.DataFrame | None:
    """Add the column ``place``, the place of each output on its form; ``None`` where it is not known.

    It is that of the page on which people read the output (table ``reading``), and within a page its column; else the
    column ``position``, where no form has one twice.
    """
    on = [name for name in (*FORM, *OUTPUT) if name in ratings.columns]
    if reading is not None and {"page", "item_id", "system"} <= set(reading.columns):
        shared = [name for name in on if name in reading.columns]
        pages = reading.drop_nulls(["item_id", "system"]).select(
            *(pl.col(name).cast(pl.String) for name in shared),
            pl.col("page").cast(pl.String).str.extract(r"(\d+)$").cast(pl.Int64).alias("page"),
        )
        pages = pages.drop_nulls("page").group_by(shared).agg(pl.col("page").min())
        keyed = ratings.with_columns(pl.col(shared).cast(pl.String))
        found = keyed.join(pages, on=shared, how="left", nulls_equal=True, maintain_order="left")
        column = POSITION.fill_null(0) if "position" in ratings.columns else pl.lit(0)
        return found.with_columns((pl.col("page") * 1000 + column).alias("place")).drop("page").drop_nulls("place")
    if "position" not in ratings.columns or ratings["position"].null_count() == ratings.height:
        return None
    placed = ratings.with_columns(POSITION.alias("place")).drop_nulls("place")
    forms = [name for name in FORM if name in placed.columns]
    outputs = [name for name in OUTPUT if name in placed.columns]
    alone = placed.group_by([*forms, "place"]).agg(pl.struct(outputs).n_unique().alias("n"))
    return placed if placed.height and alone["n"].max() == 1 else None


def sequence_of(rows: pl.DataFrame) -> Sequence:
    """Lay the answers of one group and criterion along their forms; repeats are averaged."""
    rows = rows.with_columns(pl.col([one for one in (*FORM, *OUTPUT) if one in rows.columns]).cast(pl.String))
    coded = code(rows["annotator_id"])
    annotator = coded.of
    form = fold(annotator, code(rows["assignment_id"]).of if "assignment_id" in rows.columns else annotator).of
    system = code(rows["system"]).of
    parts = [code(rows[name]).of for name in OUTPUT if name in rows.columns and name != "system"]
    output = fold(system, *parts).of
    place = rows["place"].to_numpy()
    cells = fold(form, place, output)
    first = cells.first
    value = cells.mean(rows["value"].cast(pl.Float64).to_numpy())
    form, place = form[first], place[first]
    order = np.lexsort((place, form))
    form = form[order]
    starts = np.r_[0, np.flatnonzero(np.diff(form)) + 1] if len(form) else np.zeros(0, dtype=np.int64)
    lengths = np.diff(np.r_[starts, len(form)])
    return Sequence(
        annotator=annotator[first][order],
        form=form,
        output=output[first][order],
        system=system[first][order],
        place=np.arange(len(form)) - np.repeat(starts, lengths),
        value=value[order],
        annotators=tuple(coded.ids),
    )


def share_turned(sequence: Sequence) -> float | None:
    """Return how often two forms show two outputs that both hold the other way round; ``None``: no two such forms.

    Half of them where the order is drawn anew for each form, none where all forms have one order.
    """
    turned = asked = 0
    for one, other in _shared(sequence):
        signs = [np.sign(side[:, None] - side[None, :])[np.triu_indices(len(side), 1)] for side in (one, other)]
        turned += int((signs[0] != signs[1]).sum())
        asked += len(signs[0])
    return turned / asked if asked else None


def _shared(sequence: Sequence) -> Iterator[tuple[Ints, Ints]]:
    """Yield the places, on two forms, of the outputs that both hold, of neighbours in the order of the forms."""
    forms = [
        dict(zip(sequence.output[own].tolist(), sequence.place[own].tolist(), strict=True))
        for own in np.split(np.arange(len(sequence)), np.flatnonzero(np.diff(sequence.form)) + 1)
    ]
    seen = 0
    pairs = ((place, place + step) for step in range(1, len(forms)) for place in range(len(forms) - step))
    for place, other in islice(pairs, MOST_TRIED):
        common = [output for output in forms[place] if output in forms[other]]
        if len(common) > 1:
            seen += 1
            yield tuple(np.array([form[output] for output in common]) for form in (forms[place], forms[other]))  # type: ignore[misc]
        if seen >= MOST_PAIRS:
            return


def blocked_forms(sequence: Sequence) -> dict[int, bool]:
    """Say of each form of two or more systems, with some outputs of each, whether each system's stand together."""
    found = {}
    for own in np.split(np.arange(len(sequence)), np.flatnonzero(np.diff(sequence.form)) + 1):
        systems, counts = np.unique(sequence.system[own], return_counts=True)
        if len(systems) > 1 and counts.min() >= BLOCK:
            runs = 1 + int((np.diff(sequence.system[own]) != 0).sum())
            found[int(sequence.form[own[0]])] = runs == len(systems)
    return found
