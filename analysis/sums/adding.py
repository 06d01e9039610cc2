"""Checked answers to whole-number sums, the sums of parts to those of the table, and these to its totals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from analysis.statistics.coding import FEW, Different, Floats, Ints, constant, translate
from analysis.statistics.differences import Differences
from analysis.sums.grid import CELL, COMPARED, DIGITS, KEYS, OPTIONS, PART, SYSTEMS, TOGETHER, UNITS, Grid, Sums
from analysis.sums.keys import different_rows, key_of, spelled_out
from analysis.sums.totals import LargeKind, SummedKind

IDS = {"annotator": "annotator_id", "item": "item_id", "variant": "variant", "repeat": "repeat"}
SAMPLES: Mapping[LargeKind, tuple[str, ...]] = {
    "ratings": ("sample",),
    "choices": ("sample", "sample_x", "sample_y"),
    "preferences": ("sample",),
}
DESCRIBED = ("elicitation", "form", "readout", "variant", "visit")  # columns whose values are counted
PACKED, ROOM = 4, 15  # counts in one whole number, and bits of each
MASS = 1e9  # parts of probability in which mass is added up
LISTED = 1000  # different scores of a group and criterion that are counted each by itself


def keyed_rows(table: pl.DataFrame, kind: LargeKind) -> pl.DataFrame:
    """Return what is added up: names of group, criterion and systems, values, and keys of all other ids.

    A key is a hash of 64 bits, 0 for an empty cell: of ten million ids two have the same one with a chance of 3 in a
    million. Hashes are those of the installed polars.
    """
    keys = {name: key_of(table[column]) for name, column in IDS.items()}
    keys["sample"] = key_of(*(table[column] for column in SAMPLES[kind]))
    keys["assignment"] = key_of(table["annotator_id"], table["assignment_id"])
    keys["assigned"] = table["assignment_id"].is_not_null()
    names = (*PART, *SYSTEMS[kind], "annotator_kind")
    rows = [column for column in ("row",) if column in table.columns]
    return table.select(*names, "value", *rows).with_columns(**keys)


def described(table: pl.DataFrame, keys: pl.DataFrame, different: Different | None = None) -> Sums:
    """Count missing answers and what columns say, and list who is there; groups and criteria by name.

    ``keys`` are :func:`keyed_rows`, of which one row of each combination does.
    """
    level = pl.col("missing_level") if "missing_level" in table.columns else pl.lit(None, dtype=pl.String)
    lacking = table.filter(pl.col("value").is_null())
    missing = lacking.group_by(*PART, pl.col("missing_reason").alias("reason"), level.alias("level"))
    number, mass = pl.len().cast(pl.Int64), _column_or_null(table, "mass")
    columns = [
        table.filter(pl.col(column).is_not_null())
        .group_by(*PART, pl.lit(column).alias("column"), pl.col(column).alias("value"))
        .agg(n=number)
        for column in DESCRIBED
        if column in table.columns and table[column].null_count() < table.height
    ]
    empty = pl.DataFrame(schema={**dict.fromkeys(KEYS["columns"], pl.String), "n": pl.Int64})
    assigned = keys.filter("assigned")
    scale = pl.col("value").abs().max().fill_null(0.0)
    own = [*_counted(table, mass), scale.alias("scale"), (-mass.min()).alias("least")]
    if all(constant(table[name]) for name in PART):
        counted = table.select(pl.col(PART).first(), *own).with_columns(
            value=pl.lit((different or Different()).of(table["value"]).drop_nulls().implode())
        )
    else:
        counted = table.group_by(PART).agg(*own, value=pl.col("value").drop_nulls().unique())
    few = pl.when(pl.col("value").list.len() <= OPTIONS).then("value").otherwise(pl.lit([None], pl.List(pl.Float64)))
    values = counted.select(*PART, "value").filter(pl.col("value").list.len() > 0)
    asked = {"asked": different_rows(table, KEYS["asked"])} if "exposure" in table.columns else {}
    return asked | {
        "missing": spelled_out(missing.agg(n=number)),
        "missing_systems": spelled_out(lacking.select(_compared(table)).unique()),
        "columns": pl.concat([empty, *map(spelled_out, columns)]),
        "seen": different_rows(keys, KEYS["seen"]),
        "assigned": different_rows(assigned, KEYS["assigned"]),
        "counted": spelled_out(counted.drop("scale", "least", "value")),
        "repeats": different_rows(keys, KEYS["repeats"]),
        "values": spelled_out(values.with_columns(few.alias("value")).explode("value")),
        "samples": different_rows(keys, KEYS["samples"]).group_by(PART).head(2),
        "extremes": spelled_out(counted.select(*PART, "scale", mass="least")),
    }


def _compared(table: pl.DataFrame) -> list[pl.Expr]:
    """Return which systems a row is about, a rated one twice."""
    columns = COMPARED if COMPARED[0] in table.columns else ("system", "system")
    return [pl.col(own).alias(name) for name, own in zip(COMPARED, columns, strict=True)]


def _counted(table: pl.DataFrame, mass: pl.Expr) -> list[pl.Expr]:
    """Count answers asked for, missing, and read in two ways; mass is added up in whole multiples."""
    differ = _column_or_null(table, "readings_differ")
    counted = {
        "n_asked": pl.len(),
        "n_missing": pl.col("value").null_count(),
        "n_read_twice": differ.count(),
        "n_readings_differ": differ.sum(),
        "n_mass": mass.count(),
        "mass": (mass * MASS).round().cast(pl.Int64).sum(),
    }
    return [own.cast(pl.Int64).alias(name) for name, own in counted.items()]


def _column_or_null(table: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name) if name in table.columns else pl.lit(None, dtype=pl.Float64)


def in_cells(rows: pl.DataFrame, kind: SummedKind) -> pl.DataFrame:
    """Sort the rows of :func:`numbered` so that equal cells are together."""
    by = (*CELL, *SYSTEMS[kind], "sample", "repeat")
    ranges = rows.select(pl.col(by).max() - pl.col(by).min()).row(0, named=True)
    assigned = rows.height and not rows["assignment"].equals(rows["annotator"].rename("assignment"))
    sorted_by = [name for name in by if ranges[name] and (name != "assignment" or assigned)]
    return rows.sort(sorted_by) if sorted_by else rows


def numbered(rows: pl.DataFrame, kind: SummedKind, grid: Grid) -> pl.DataFrame:
    """Give numbers to groups, criteria and systems of answered rows."""
    systems = {name: number for number, name in enumerate(grid.order.systems)}
    groups = {name: number for number, name in enumerate(grid.order.groups)}
    numbers = {"group": groups, "criterion": grid.criteria, **dict.fromkeys(SYSTEMS[kind], systems)}
    return rows.with_columns(
        translate(rows[name].cast(pl.Categorical), partial(_replaced, numbers=own)).alias(name)
        for name, own in numbers.items()
    )


def _replaced(names: pl.Series, numbers: Mapping[str, int]) -> pl.Series:
    return names.replace_strict(dict(numbers), return_dtype=pl.Int32)


class _Edges:
    """Where rows begin that differ from those before: found for one more column at a time."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self._rows = rows
        self._new = np.zeros(rows.height, dtype=np.bool_)
        self._new[:1] = True

    def after(self, *columns: str) -> Ints:
        """Return the rows at which a new combination of these columns and those before begins."""
        for name in columns:
            column = self._rows[name].to_numpy()
            self._new[1:] |= column[1:] != column[:-1]
        return np.flatnonzero(self._new)


def doubled(rows: pl.DataFrame, kind: SummedKind) -> pl.DataFrame:
    """Return the sorted rows whose cell was answered more than once, numbered by ``cell``."""
    first = _Edges(rows).after(*CELL, *SYSTEMS[kind], "sample", "repeat")
    if len(first) == rows.height:
        return rows.clear()
    times = np.diff(first, append=rows.height)
    cell = pl.Series(np.repeat(np.arange(len(times)), times))
    return rows.with_columns(cell=cell).filter(pl.Series(np.repeat(times > 1, times)))


def add_up(rows: pl.DataFrame, kind: SummedKind, grid: Grid) -> Sums:
    """Add up the sorted rows of :func:`in_cells`, in which all that one annotator answered about one item are together.

    O(rows log rows) time; sums are whole numbers of 128 bits.
    """
    found = _values(rows, kind, grid)
    clusters, blocks, once = found.clusters, found.blocks, len(found.clusters) == len(found.blocks)
    sums: Sums = {}
    if kind == "ratings":
        once_each = once and len(found.cells) == len(found.outputs)
        packed = found.about.with_columns(_packed(rows[found.cells], grid))
        sums |= _sums("scores", packed, grid, once=once_each) | {"scores_counts": _counts("scores", found.about, grid)}
        sums |= merged([_sums("pairs", pairs, grid, once=once) for pairs in found.pairs()])
    else:
        (pairs,) = found.pairs()
        sums |= _sums("pairs", pairs, grid, once=False) | {"pairs_counts": _counts("pairs", pairs, grid)}
    starts = {"clusters": clusters, "blocks": blocks}
    layout = [rows[own].group_by(PART).agg(pl.len().cast(pl.Int64).alias(name)) for name, own in starts.items()]
    layout.append(rows.group_by(PART).agg(pl.len().cast(pl.Int64).alias("answers")))
    layouts = pl.concat(layout, how="diagonal").group_by(PART).sum()
    return sums | {"layout": layouts, "repeated": _repeated(found.about, kind, grid, once=once)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Valued:
    """Values of cells (``about``), rows at which what belongs together begins, and what pairs of systems get."""

    about: pl.DataFrame
    clusters: Ints
    blocks: Ints
    outputs: Ints
    cells: Ints
    pairs: Callable[[], Iterable[pl.DataFrame]]

    def of_both(self, kind: SummedKind) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield values of systems (of ratings) and of pairs."""
        if kind == "ratings":
            yield "scores", self.about
        for pairs in self.pairs():
            yield "pairs", pairs


def _values(rows: pl.DataFrame, kind: SummedKind, grid: Grid) -> Valued:
    edges = _Edges(rows)
    clusters, blocks = edges.after(*CELL[:4]), edges.after(*CELL[4:])
    outputs, cells = edges.after(*SYSTEMS[kind]), edges.after("sample")
    factor = grid.factor[rows["group"].to_numpy(), rows["criterion"].to_numpy()]
    value = np.rint(_mean_of_repeats(rows["value"].to_numpy(), cells) * factor[cells]).astype(np.int64)
    about = rows[cells].with_columns(value=pl.Series(value))

    def chosen() -> Iterable[pl.DataFrame]:
        turned = pl.col("system_x") > pl.col("system_y")
        whole = pl.Series(factor[cells]).cast(pl.Int64)
        pairs = about.with_columns(
            x=pl.min_horizontal(SYSTEMS[kind]),
            y=pl.max_horizontal(SYSTEMS[kind]),
            value=pl.when(turned).then(whole - pl.col("value")).otherwise("value"),
        ).with_columns(above=pl.col("value") > whole // 2, tied=pl.col("value") == whole // 2)
        yield pairs.with_columns(answers=pl.lit(1, dtype=pl.Int64))

    def rated() -> Iterable[pl.DataFrame]:
        first = np.searchsorted(cells, outputs)
        scores, times = _averaged(value, first), np.diff(first, append=len(cells))
        return _pairs(rows, scores, times, outputs, np.searchsorted(blocks, outputs, side="right") - 1)

    pairs_of = chosen if kind == "choices" else rated
    return Valued(about=about, clusters=clusters, blocks=blocks, outputs=outputs, cells=cells, pairs=pairs_of)


def add_weighed(rows: pl.DataFrame, kind: SummedKind, grid: Grid, weights: Mapping[str, pl.DataFrame]) -> Sums:
    """Add up the sorted rows of :func:`in_cells` by item, each value times the weight of whoever gave it.

    ``weights`` are those of :func:`analysis.sums.weighing.uneven_weights`; values without one are left out.
    """
    found = _values(rows, kind, grid)
    parts = [_weighed(of, values, grid, weights[of]) for of, values in found.of_both(kind) if of in weights]
    return merged(parts)


def _weighed(of: str, values: pl.DataFrame, grid: Grid, weights: pl.DataFrame) -> Sums:
    values = values.with_columns(grid.about(of))
    large, weight = pl.col("value").cast(pl.Int128), pl.col("weight")
    added = {"share": weight.sum(), "square": pl.col("squared").sum(), "total": (weight * large).sum()}
    if of == "pairs":
        added["higher"] = (weight * (2 * pl.col("above").cast(pl.Int128) + pl.col("tied").cast(pl.Int128))).sum()
    parts = [
        values.join(own, on=("about", unit)).group_by("about", "item").agg(**added)
        for unit in TOGETHER.values()
        if (own := weights.filter(votes=unit).rename({"who": unit})).height
    ]
    return merged([{f"{of}_weighed_item": part} for part in parts])


def _packed(rows: pl.DataFrame, grid: Grid) -> list[pl.Series]:
    """Return columns whose sums say how often each option was given; empty where no scale has few options."""
    option = rows.join(grid.options, on=(*PART, "value"), how="left", maintain_order="left")["option"].fill_null(-1)
    columns = -(-(max(grid.options["option"].to_list(), default=-1) + 1) // PACKED)
    place = option.cast(pl.Int64).to_numpy()  # counts of four options take 60 bits
    return [
        pl.Series(f"packed_{number}", np.where(place // PACKED == number, 1 << ROOM * (place % PACKED), 0))
        for number in range(columns)
    ]


def _mean_of_repeats(values: Floats, starts: Ints) -> Floats:
    """Average before whole multiples are taken, so that a mean is equal to a score of its size."""
    if len(starts) == len(values):
        return values
    means: Floats = np.add.reduceat(values, starts) / np.diff(starts, append=len(values))
    return means


def _averaged(values: Ints, starts: Ints) -> Ints:
    if len(starts) == len(values):
        return values
    times = np.diff(starts, append=len(values))
    return np.rint(np.add.reduceat(values, starts) / times).astype(np.int64)


def _pairs(rows: pl.DataFrame, scores: Ints, times: Ints, outputs: Ints, blocks: Ints) -> Iterable[pl.DataFrame]:
    """Yield the differences of every two outputs of a block, about a million at a time."""
    columns = {name: rows[name].to_numpy()[outputs] for name in (*CELL[:5], "system")}
    differences = Differences(
        block=blocks,
        system=columns["system"],
        score=scores.astype(np.float64),
        annotators=columns["annotator"],
        assignments=columns["assignment"],
        items=columns["item"],
        scale=10.0 ** (DIGITS - 1),  # so that a difference keeps 13 digits, and equal ones are equal
        times=times,
    )
    for part in differences.parts():
        value = part.value.astype(np.int64)
        yield pl.DataFrame(
            {
                **{name: columns[name][part.of] for name in CELL[:5]},
                "x": part.x,
                "y": part.y,
                "value": value,
                "above": value > 0,
                "tied": value == 0,
                "first": scores[part.of],
                "second": scores[part.of] - value,
                "answers": times[part.of] + times[part.of_y],
            }
        )


def _sums(of: str, values: pl.DataFrame, grid: Grid, *, once: bool) -> Sums:
    """Add up values; ``once`` says that no annotator gave two of one kind to one item."""
    values = values.with_columns(grid.about(of))
    large = pl.col("value").cast(pl.Int128)
    added = {"n": pl.len().cast(pl.Int64), "total": large.sum()}
    added |= {name: pl.col(name).sum().cast(pl.Int64) for name in ("above", "tied", "answers") if of == "pairs"}
    squares = (large * large).sum().alias("squares")
    beside = {}
    if "first" in values.columns:  # of the ratings that lie side by side
        first, second = (pl.col(name).cast(pl.Int128) for name in ("first", "second"))
        beside = {"first": first.sum(), "first_squares": (first * first).sum(), "product": (first * second).sum()}
    found = {f"{of}_overall": values.group_by("about").agg(squares, **added)}
    llms = values.filter(pl.col("group").is_in(grid.llm))
    for unit in UNITS:
        packed = [pl.col("^packed_.*$").sum()] if of == "scores" else []
        own = llms if unit == "assignment" else values
        together = beside if unit in TOGETHER.values() else {}
        found[f"{of}_{unit}"] = own.group_by("about", unit).agg(squares, *packed, **added, **together)
    if once:
        one = pl.lit(1, dtype=pl.Int64).alias("n")
        alone = (one, pl.col("n").alias("clusters"), "total", "squares")
        return found | {
            f"{of}_{kind}": found[f"{of}_{unit}"].select("about", unit, *alone) for kind, unit in TOGETHER.items()
        }
    return found | {
        f"{of}_{kind}": _clusters(llms if unit == "assignment" else values, unit) for kind, unit in TOGETHER.items()
    }


def _clusters(values: pl.DataFrame, unit: str) -> pl.DataFrame:
    total = pl.col("value").cast(pl.Int128).sum()
    clusters = values.group_by("about", unit, "item").agg(n=pl.len().cast(pl.Int64), total=total)
    total = pl.col("total")
    return clusters.group_by("about", unit, "n").agg(
        clusters=pl.len().cast(pl.Int64), total=total.sum(), squares=(total * total).sum()
    )


def _counts(of: str, values: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """Count each value, or under ``null`` all values of a group and criterion that has too many different ones."""
    each = values.group_by(*PART, grid.about(of), "value").agg(n=pl.len().cast(pl.Int64))
    few = pl.col("value").n_unique().over(PART) <= LISTED
    name = f"{of}_counts"
    return merged([{name: each.select("about", pl.when(few).then("value"), "n")}])[name]


def _repeated(cells: pl.DataFrame, kind: SummedKind, grid: Grid, *, once: bool) -> pl.DataFrame:
    """Return the people who answered one question in two assignments."""
    if once:
        return cells.select("annotator").clear()
    people = cells.filter(~pl.col("group").is_in(grid.llm))
    asked = people.group_by(*CELL[:4], "variant", "sample", *SYSTEMS[kind]).agg(pl.col("assignment").n_unique())
    return asked.filter(pl.col("assignment") > 1).select("annotator").unique()


def merged(parts: Iterable[Sums]) -> Sums:
    """Add the sums of parts to each other."""
    tables: dict[str, list[pl.DataFrame]] = {}
    for part in parts:
        for name, frame in part.items():
            tables.setdefault(name, []).append(frame)
    return {name: _merged(name, frames) for name, frames in tables.items()}


def _merged(name: str, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    first, *others = frames
    together = first
    if others:
        others = [frame if frame.columns == first.columns else frame.select(first.columns) for frame in others]
        together = pl.concat([first, *others], how="vertical_relaxed")
    if name == "extremes":
        return together.group_by(PART).agg(pl.exclude(PART).max())
    keys = KEYS[name]
    if len(keys) == together.width:
        return together.unique()
    engine: Any = "streaming" if together.height > FEW else "auto"  # of many rows half the time
    return together.lazy().group_by(keys).agg(pl.exclude(keys).sum()).collect(engine=engine)
