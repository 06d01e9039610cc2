"""Totals of a table that is in memory, beside which those of parts are held."""

from __future__ import annotations

import polars as pl

from analysis.answers.groups import group_order
from analysis.answers.order import order_of
from analysis.answers.tables import AnswerTables, answered_rows
from analysis.llm_vs_people.stand_in import NOBODY, compared_people, judged, stand_in_sums
from analysis.sums.adding import add_up, add_weighed, described, in_cells, keyed_rows, numbered
from analysis.sums.building import build_totals
from analysis.sums.grid import grid_of
from analysis.sums.totals import AnswerTotals, LargeKind
from analysis.sums.weighing import uneven_weights


def totals_of(tables: AnswerTables, kind: LargeKind) -> AnswerTotals:
    """Add up a checked table that is in memory.

    Parameters
    ----------
    tables : AnswerTables
        What :func:`analysis.answers.tables.read_tables` returned; it must hold the table.
    kind : {"ratings", "choices"}
        The table to add up.
    """
    table = tables.answers()[kind]
    groups = group_order([table])
    order = order_of(table, [group for group, _ in groups], None)
    keys = keyed_rows(table, kind)
    known = described(table, keys)
    grid = grid_of(order, groups, known, {})
    rows = in_cells(numbered(answered_rows(keys), kind, grid), kind)
    ids = pl.DataFrame({"annotator": keys["annotator"], "annotator_id": table["annotator_id"].cast(pl.String)})
    people = compared_people(groups, kind, known)
    compared = stand_in_sums(lambda: [judged(rows, kind, grid, people)]) if people else NOBODY
    sums = add_up(rows, kind, grid)
    weighed = add_weighed(rows, kind, grid, uneven_weights(sums, grid))
    return build_totals(
        known | sums | weighed | compared,
        kind=kind,
        grid=grid,
        groups=groups,
        names=ids.unique(),
        inputs=tables.inputs,
        scales=tables.scales,
    )
