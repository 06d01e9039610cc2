"""What libraries compute again of outputs put in order."""

from __future__ import annotations

import numpy as np

from analysis.answers.exclusions import apply_exclusions
from analysis.answers.order import order_of
from analysis.contribution import Checked
from analysis.orders.summaries import Orderings, OrderStrength, orderings_of, place_slopes
from analysis.statistics.coding import Floats
from analysis.strengths.fit import DENSE
from analysis.verification.claims import Claim, Claims, Left, figure, places


def claims(checked: Checked) -> Claims:
    """Claim Plackett-Luce strengths of whole orders without ties, and the tests of place."""
    results = checked.results
    if checked.analysis is None or not results.orders:
        return
    prepared = checked.analysis.prepared
    table = prepared.tables.orders
    assert table is not None
    order = order_of(table, [group for group, _ in prepared.groups], prepared.study)
    kept = apply_exclusions(table, prepared.exclusions)
    found: dict[tuple[str, str], Orderings] = {}
    for place, row in places("orders", results.orders):
        own = orderings_of(kept, order, row.group, row.criterion)
        assert own is not None
        found[row.group, row.criterion] = own
        if row.place_p is not None:
            yield from figure(row, "place_p", place, "ttest_1samp", values=place_slopes(own), against=0.0)
    tables: dict[tuple[str, str], list[tuple[str, OrderStrength]]] = {}
    for place, strength in places("order_strengths", results.order_strengths):
        if strength.strength is not None:
            tables.setdefault((strength.group, strength.criterion), []).append((place, strength))
    number = {system: at for at, system in enumerate(order.systems)}
    for key, rows in tables.items():
        paths = tuple(f"{place}.strength" for place, _ in rows)
        ranks = found[key].rank[:, [number[row.system] for _, row in rows]]
        if len(rows) > DENSE:
            yield Left(paths=paths, why="many_systems")
        elif rows[0][1].alike is not None or _tied(ranks):
            yield Left(paths=paths, why="choix_weights")
        else:
            yield Claim(
                call="ilsr_rankings",
                paths=paths,
                figures=tuple(row.strength for _, row in rows if row.strength is not None),
                numbers={"n_systems": len(rows), "rankings": [_ranking(row) for row in ranks]},
            )


def _tied(ranks: Floats) -> bool:
    """Say whether some order puts two outputs in one place."""
    known = (row[np.isfinite(row)] for row in ranks)
    return any(len(np.unique(row)) < len(row) for row in known)


def _ranking(ranks: Floats) -> list[int]:
    """Return the numbers of the outputs that an order holds, best first."""
    here = np.flatnonzero(np.isfinite(ranks))
    ordered: list[int] = here[np.argsort(ranks[here])].tolist()
    return ordered
