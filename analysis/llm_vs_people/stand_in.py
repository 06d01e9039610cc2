"""Whether LLMs are closer to a person's others than the person: sums by person over the answers in the exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import polars as pl

from analysis.comparisons.sides import PEOPLE, PeopleKind
from analysis.llm_vs_people.alternative_annotator import AnnotatorSums, closer_to_others, cluster_sums
from analysis.statistics.record import AnnotatorKind, names_of
from analysis.sums.adding import merged
from analysis.sums.grid import DIGITS, PART, SYSTEMS, Grid, Sums
from analysis.sums.totals import SummedKind

UNIT = ("criterion", "item", "sample", "system_x", "system_y")  # what was judged: an output, or two of one item
Judged: TypeAlias = tuple[pl.DataFrame, pl.DataFrame]  # of people and of LLMs
COUNTED = names_of(AnnotatorSums)[1:]
PLACE = dict.fromkeys(PART, pl.Int32)
NOBODY: Sums = {  # sums where nobody was compared
    "stand_in": pl.DataFrame(schema={**PLACE, "annotator": pl.Int64, **dict.fromkeys(COUNTED, pl.Int64)}),
    "stand_in_units": pl.DataFrame(schema={**PLACE, "n": pl.Int64}),
}


def people_beside_llms(groups: Iterable[tuple[str, AnnotatorKind]]) -> PeopleKind | None:
    """Return whom LLMs are compared with: people, or simulated annotators where there are none; ``None``: nobody."""
    kinds = {kind for _, kind in groups}
    return next((kind for kind in PEOPLE if kind in kinds), None) if "llm" in kinds else None


def compared_people(groups: Sequence[tuple[str, AnnotatorKind]], kind: SummedKind, known: Sums) -> list[int]:
    """Return the numbers of the groups of people with whom LLMs are compared.

    Two choices of several samples cannot be told to be about the same outputs, as keys depend on their order: nobody.
    """
    people = people_beside_llms(groups)
    if kind == "choices" and known["samples"]["sample"].n_unique() > 1:
        return []
    return [number for number, (_, own) in enumerate(groups) if own == people]


def stand_in_sums(read: Callable[[], Iterable[Judged]]) -> Sums:
    """Return the sums of :class:`AnnotatorSums` by criterion, LLM (its group) and person.

    ``read`` returns all that :func:`judged` does about some items, one person's about one item together; it is called
    twice.
    """
    units: Sums = {}
    for persons, llms in read():
        total = persons.group_by(UNIT).agg(pl.col("value").cast(pl.Int128).sum(), n=pl.len().cast(pl.Int64))
        units = _added([units, {"people": total, "llms": llms}])
    llm = units["llms"].select("group", *UNIT, llm=pl.col("value") / pl.col("n"))
    both = units["people"].rename({"value": "total"}).join(llm, on=UNIT)
    counted = both.group_by(PART).agg(n=(pl.col("n") > 1).sum().cast(pl.Int64))
    own = [_of_people(persons.join(both, on=UNIT)) for persons, _ in read()]
    return merged([{"stand_in_units": counted}, *({"stand_in": frame} for frame in own)])


def judged(rows: pl.DataFrame, kind: SummedKind, grid: Grid, people: Sequence[int]) -> Judged:
    """Return people's mean answers to each unit, and the LLMs' answers to it added up, as whole multiples.

    ``rows`` are those of ``numbered``, ``people`` the numbers of their groups.
    """
    factor = pl.Series(grid.factor.min(axis=0)[rows["criterion"].to_numpy()])
    value = (pl.col("value") * factor).round().cast(pl.Int64)
    if kind == "choices":
        x, y = SYSTEMS[kind]
        value = pl.when(pl.col(x) > pl.col(y)).then(factor.cast(pl.Int64) - value).otherwise(value)
        systems = {x: pl.min_horizontal(x, y), y: pl.max_horizontal(x, y)}
    else:
        systems = dict.fromkeys(SYSTEMS["choices"], pl.col("system"))
    rows = rows.select("annotator", *PART, "item", "sample", value=value, **systems)
    mean = pl.col("value").mean().round().cast(pl.Int64)
    persons = rows.filter(pl.col("group").is_in(people)).group_by("annotator", *UNIT).agg(mean)
    llms = rows.filter(pl.col("group").is_in(grid.llm)).group_by("group", *UNIT)
    return persons, llms.agg(pl.col("value").cast(pl.Int128).sum(), n=pl.len().cast(pl.Int64))


def _added(parts: Iterable[Sums]) -> Sums:
    tables: dict[str, list[pl.DataFrame]] = {}
    for name, frame in (entry for part in parts for entry in part.items()):
        tables.setdefault(name, []).append(frame)
    keys = {"people": UNIT, "llms": ("group", *UNIT)}
    return {name: pl.concat(own).group_by(keys[name]).sum() for name, own in tables.items()}


def _of_people(answers: pl.DataFrame) -> pl.DataFrame:
    """Count on which units the LLM is closer to a person's others than the person; items are clusters."""
    value, llm, total = (answers[name].cast(pl.Float64).to_numpy() for name in ("value", "llm", "total"))
    closer = pl.Series(closer_to_others(value, llm, total, answers["n"].to_numpy(), scale=10.0 ** (DIGITS - 1)))
    shared = pl.col("n") > 1
    counts = answers.select(
        *PART, "annotator", "item", n=shared, worse=shared & (closer == -1), better=shared & (closer == 1)
    )
    who = (*PART, "annotator")
    items = counts.group_by(*who, "item").agg(pl.col("n", "worse", "better").sum().cast(pl.Int64))
    difference = pl.col("worse") - pl.col("better")
    clusters = (pl.col("n") > 0).cast(pl.Int64).alias("clusters")
    return (
        items.with_columns(clusters, **cluster_sums(pl.col("n"), difference)).group_by(who).agg(pl.col(COUNTED).sum())
    )
