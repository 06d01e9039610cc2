"""Who is analysed together: people, simulated annotators, and each LLM by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from analysis.answers.columns import SHOWN
from analysis.statistics.coding import FEW, Different, constant, fold, number
from analysis.statistics.record import AnnotatorKind
from spa.errors import AnalysisError, ArgumentProblem, shortened

ORDER = ("human", "simulated", "llm")


def with_groups(tables: Mapping[str, pl.DataFrame], llms: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Fill in ``annotator_kind`` and ``group`` of every table that names annotators.

    A kind stands in the table itself, else in another table that names the annotator; else ``llms``
    names the LLMs and everyone else is human. Groups are "human", "simulated", and an LLM's id, followed by
    "/variant" where there is one; a ``group`` in the table goes before.

    Raises
    ------
    AnalysisError
        When an LLM named occurs nowhere or is called something else in a table, when an annotator
        has two kinds, or a group holds two kinds or two readouts.
    """
    done = fill_groups(tables, llms, kinds_by_annotator(tables))
    check_groups(
        pl.concat(
            [
                distinct(table, "annotator_id", "annotator_kind", "group")
                for table in done.values()
                if "group" in table.columns
            ]
        ),
        [table.select("group", "readout") for table in done.values() if {"group", "readout"} <= set(table.columns)],
        llms,
    )
    return done


def fill_groups(
    tables: Mapping[str, pl.DataFrame], llms: Sequence[str], kinds: Mapping[str, str]
) -> dict[str, pl.DataFrame]:
    """Do what :func:`with_groups` does, without its checks; ``kinds`` of annotators stand in any table."""
    done = {}
    for name, table in tables.items():
        if "annotator_id" not in table.columns:
            done[name] = table
            continue
        strings = table.schema["annotator_id"]
        annotator, nothing = pl.col("annotator_id"), pl.lit(None, dtype=strings)
        elsewhere = annotator.replace_strict(kinds, default=None, return_dtype=strings) if kinds else nothing
        human = pl.lit("human", dtype=strings)
        guess = pl.when(annotator.is_in(list(llms))).then(pl.lit("llm", dtype=strings)).otherwise(human)
        given = {column: pl.col(column) for column in table.columns}
        kind = pl.coalesce(given.get("annotator_kind", nothing), elsewhere, guess if llms else human)
        table = table.with_columns(kind.alias("annotator_kind"))
        own = pl.col("annotator_kind")
        if "llm" in Different().of(table["annotator_kind"]).to_list():
            llm = pl.concat_str([annotator, given.get("variant", nothing)], separator="/", ignore_nulls=True)
            own = pl.when(own == "llm").then(llm.cast(strings)).otherwise(own)
        done[name] = table.with_columns(pl.coalesce(given.get("group", nothing), own).alias("group"))
    return done


def kinds_by_annotator(tables: Mapping[str, pl.DataFrame]) -> dict[str, str]:
    """Return the kind of each annotator that tables name."""
    kinds: dict[str, str] = {}
    for table in tables.values():
        if {"annotator_id", "annotator_kind"} <= set(table.columns):
            given = distinct(table, "annotator_id", "annotator_kind").iter_rows()
            kinds |= {name: kind for name, kind in given if name is not None and kind is not None}
    return kinds


def check_groups(seen: pl.DataFrame, readouts: Sequence[pl.DataFrame], llms: Sequence[str]) -> None:
    """Refuse LLMs that nobody is, and annotators and groups of two kinds or two readouts.

    ``seen`` has ``annotator_id``, ``annotator_kind`` and ``group``; ``readouts`` have ``group`` and ``readout``.
    """
    seen = seen.unique(maintain_order=True)
    problems: list[str] = []
    for llm in llms:
        kinds = seen.filter(pl.col("annotator_id") == llm)["annotator_kind"].unique().to_list()
        if kinds != ["llm"]:
            found = f"the tables say annotator_kind {' and '.join(sorted(kinds))}"
            after = f": {found if kinds else 'no table names this annotator'}"
            problems.append(ArgumentProblem("llms", in_python=f"={[llm]!r}", in_command=f" {llm}", after=after))
    for column, what in (("annotator_id", "annotator"), ("group", "group")):
        if seen.height <= FEW and not _several_kinds(seen[column].to_list(), seen["annotator_kind"].to_list()):
            continue
        mixed = seen.group_by(column, maintain_order=True).agg(pl.col("annotator_kind").unique().sort())
        mixed = mixed.filter(pl.col("annotator_kind").list.len() > 1)
        problems += [
            f"{what} {shortened(repr(found[column]))} is {' and '.join(found['annotator_kind'])} at once; "
            "expected one kind"
            for found in mixed.head(SHOWN).to_dicts()
        ]
        if mixed.height > SHOWN:
            problems.append(f"{mixed.height - SHOWN} more of column {column} have two kinds")
    problems += _mixed_readouts(readouts)
    if problems:
        raise AnalysisError(*problems)


def _several_kinds(names: Sequence[str], kinds: Sequence[str]) -> bool:
    first: dict[str, str] = {}
    return any(first.setdefault(name, kind) != kind for name, kind in zip(names, kinds, strict=True))


def _mixed_readouts(tables: Sequence[pl.DataFrame]) -> list[str]:
    """Name the groups whose answers are partly what an LLM said and partly read from its probabilities."""
    said = [table for table in tables if table["readout"].null_count() < table.height]
    by_table = [table.drop_nulls().unique().cast(pl.String) for table in said]
    if not by_table:
        return []
    by_group = pl.concat(by_table).unique().group_by("group").agg(pl.col("readout").sort()).sort("group")
    mixed = [(group, readouts) for group, readouts in by_group.iter_rows() if len(readouts) > 1]
    return [
        f"group {shortened(repr(group))} mixes answers read in several ways (readout {' and '.join(readouts)}); "
        "name each in a column variant or group, to analyse them separately"
        for group, readouts in mixed[:SHOWN]
    ]


def distinct(table: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Return the different rows of some columns as strings, in the order in which they first appear."""
    if table.height <= FEW and all(isinstance(table.schema[name], pl.String | pl.Categorical) for name in columns):
        seen = dict.fromkeys(zip(*(table[name].to_list() for name in columns), strict=True))
        values = zip(*seen, strict=True) if seen else ((),) * len(columns)
        return pl.DataFrame([pl.Series(name, own, dtype=pl.String) for name, own in zip(columns, values, strict=True)])
    varied = [table[name] for name in columns if not constant(table[name])]
    if not table.height or not varied:
        first = np.arange(min(table.height, 1))
    elif len(varied) == 1:
        first = np.sort(varied[0].arg_unique().to_numpy())
    else:
        first = np.sort(fold(*(number(one) for one in varied)).first)
    return table.select(columns)[first].cast(pl.String)


def group_order(tables: Sequence[pl.DataFrame]) -> tuple[tuple[str, AnnotatorKind], ...]:
    """List (group, annotator_kind): people first, then simulated annotators, then LLMs as they first appear."""
    each = [distinct(table, "group", "annotator_kind") for table in tables]
    if not each:
        raise AnalysisError(
            "no answers: expected rows that compare or rate systems, got none, such as orders of one output"
        )
    seen = pl.concat(each).unique(maintain_order=True)
    pairs = [(group, kind) for group, kind in seen.iter_rows()]
    return tuple(sorted(pairs, key=lambda pair: ORDER.index(pair[1])))


def people_of(groups: Sequence[tuple[str, str]]) -> list[str]:
    """Return the groups that stand for people, by name: those of kind human, or simulated where there is none.

    Which of them a table happens to name first must not decide what is compared with what.

    >>> people_of([("experts", "human"), ("crowd", "human"), ("gpt", "llm")])
    ['crowd', 'experts']
    """
    by_kind = {kind: sorted(group for group, of in groups if of == kind) for kind in ("human", "simulated")}
    return by_kind["human"] or by_kind["simulated"]
