"""What statsmodels computes again of agreement: kappa of two raters."""

from __future__ import annotations

import numpy as np

from analysis.agreement.data import ReliabilityData, reliability_data
from analysis.agreement.rater_agreement import code_raters
from analysis.agreement.reviewers import answers_by_pair
from analysis.contribution import Checked
from analysis.verification.claims import Claims, Left, figure, left, places
from analysis.verification.figures import KAPPAS


def claims(checked: Checked) -> Claims:
    """Claim Cohen's kappa of ratings and of reviewers; of pairs of outputs it is none of statsmodels'."""
    results = checked.results
    for place, row in places("agreement", results.agreement):
        if row.measure in KAPPAS and row.value is not None:
            yield Left(paths=(f"{place}.value",), why="turned")
    for place, pair in places("annotator_pairs", results.annotator_pairs):
        if pair.source == "choices":
            yield from left(pair, "cohen_kappa", place, "turned")
    if checked.analysis is None:
        return
    prepared = checked.analysis.prepared
    log = prepared.study.decisions if prepared.study else ()
    answers = list(answers_by_pair(log)) if results.reviewers else []
    for (place, review), (_, given) in zip(places("reviewers", results.reviewers), answers, strict=True):
        table = _table(reliability_data(given), 0, 1)
        yield from figure(review, "kappa", place, "cohens_kappa", table=table)
    pairs = [(place, pair) for place, pair in places("annotator_pairs", results.annotator_pairs)]
    pairs = [(place, pair) for place, pair in pairs if pair.source == "ratings" and pair.cohen_kappa is not None]
    if not any(checked.wanted(f"{place}.cohen_kappa") for place, _ in pairs):
        return
    coded = code_raters(prepared.kept["ratings"], prepared.orders["ratings"]) if "ratings" in prepared.kept else None
    rated = {} if coded is None else {(group, criterion): data for group, criterion, data in coded.each()}
    for place, pair in pairs:
        if checked.wanted(f"{place}.cohen_kappa"):
            data = rated[pair.group, pair.criterion]
            x, y = (data.annotators.index(name) for name in (pair.annotator_x, pair.annotator_y))
            yield from figure(pair, "cohen_kappa", place, "cohens_kappa", table=_table(data, x, y))


def _table(data: ReliabilityData, x: int, y: int) -> list[list[int]]:
    """Count the answers of one rater by those of another, over the units that both answered."""
    first, second = (
        dict(zip(data.unit[data.annotator == who].tolist(), data.value[data.annotator == who].tolist(), strict=True))
        for who in (x, y)
    )
    both = [(first[unit], second[unit]) for unit in sorted(first.keys() & second.keys())]
    values = sorted({value for pair in both for value in pair})
    table = np.zeros((len(values), len(values)), dtype=np.int64)
    for one, other in both:
        table[values.index(one), values.index(other)] += 1
    return table.tolist()
