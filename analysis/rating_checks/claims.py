"""What libraries compute again of the other tests of ratings."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.comparisons.judged import Judged, RatedPair, judged_ratings
from analysis.contribution import Checked
from analysis.rating_checks.wilcoxon import EXACT
from analysis.rating_checks.z_scores import spread_of_annotators
from analysis.statistics.coding import Floats, snap
from analysis.verification.by_scipy import COUNTED
from analysis.verification.claims import Claim, Claims, Left, corrected, figure, left, places

MOST_SIGNS = 1 << 13  # of tied values in all that are counted: 0.9 s by scipy


def claims(checked: Checked) -> Claims:
    """Claim signed ranks and z-scores, and the corrections of each method."""
    rows = list(places("ratings.robustness", checked.results.ratings.robustness))
    whole = checked.settings.family == "all"
    families: dict[tuple[str, str, str | None], list[tuple[str, Any]]] = {}
    found = {}
    for place, row in rows:
        families.setdefault((row.method, row.group, None if whole else row.criterion), []).append((place, row))
        found[row.method, row.group, row.criterion, row.system_x, row.system_y] = place, row
        if row.method == "crossed":
            yield from left(row, "p_value", place, "copy")
        elif row.method == "ordinal":
            yield from left(row, "p_value", place, "ordinal")
    for members in families.values():
        yield from corrected(members, checked.settings.correction or "holm")
    if checked.analysis is None:
        return
    signs = MOST_SIGNS
    for _, test, rated in judged_ratings(checked, checked.analysis):
        key = test.group, test.criterion, test.system_x, test.system_y
        if ("wilcoxon", *key) in found:
            for claim in _signed_ranks(*found["wilcoxon", *key], test, rated):
                if isinstance(claim, Claim) and are_tied(claim.numbers["values"]):
                    signs -= 1 << len(claim.numbers["values"])
                yield claim if signs >= 0 else Left(paths=claim.paths, why="sampled")
        if ("z_scores", *key) in found:
            yield from _z_scores(*found["z_scores", *key], rated)


def _signed_ranks(place: str, row: Any, test: Any, rated: RatedPair) -> Claims:
    if row.p_value is None:
        return
    judged = rated.judged
    values = None if test.test == "clustered t" else judged.by_unit(judged.value)
    if values is None:
        yield from left(row, "p_value", place, "weighed" if test.test != "clustered t" else "clustered")
        return
    values = snap(values, scale=rated.cells.scale, digits=13)
    if takes_signed_ranks(values):
        yield from figure(row, "p_value", place, "wilcoxon", values=values, counted=EXACT)
    else:
        yield from left(row, "p_value", place, "wilcoxon_ties")


def takes_signed_ranks(values: Floats) -> bool:
    """Say whether scipy computes the p-value of signed ranks: without ties and zeros, or up to 13 values."""
    return len(values) <= COUNTED or not are_tied(values)


def are_tied(values: Floats) -> bool:
    """Say whether some values are of one size, or 0."""
    sizes = np.abs(values)
    return bool(len(np.unique(sizes)) < len(sizes) or sizes.min() == 0)


def _z_scores(place: str, row: Any, rated: RatedPair) -> Claims:
    if row.p_value is None:
        return
    cells, judged = rated.cells, rated.judged
    scaled = judged.value / spread_of_annotators(cells.value, cells.annotator)[judged.annotator]
    known = np.isfinite(scaled)
    own = Judged(
        value=scaled[known],
        annotator=judged.annotator[known],
        who=judged.who[known],
        unit=judged.unit[known],
        item=judged.item[known],
        equal=judged.equal,
    )
    values = None if judged.equal and not known.all() else own.by_unit(own.value)
    if values is None:
        yield from left(row, "p_value", place, "weighed")
    else:
        yield from figure(row, "p_value", place, "ttest_1samp", values=values, against=0.0)
