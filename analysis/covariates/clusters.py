"""What the errors of comparisons are clustered by."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.answers.plan import Plan
from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.statistics.coding import Ints, fold
from analysis.statistics.reasons import Reason, why


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorClusters:
    """One clustering or two, in words, or why there is none."""

    of: tuple[Ints, ...] = ()
    named: str = ""
    reason: Reason | None = None


def error_clusters(unit: str, of_unit: Ints, item: Ints | None, plan: Plan) -> ErrorClusters:
    """Choose the clusters of comparisons, a value a row.

    ``unit`` says what ``of_unit`` numbers: annotators, of an LLM assignments. As the plan says, else both it and the
    item where there are ten of either and both repeat; else the one that repeats, or of which there are ten.
    """
    found = {unit: of_unit} | ({} if item is None else {"item": item})
    if plan.unit == "annotator":
        found = {unit: of_unit}
    elif plan.unit == "item" and item is not None:
        found = {"item": item}
    sizes = {name: len(fold(of)) for name, of in found.items()}
    enough = {name: of for name, of in found.items() if sizes[name] >= ENOUGH_ANNOTATORS}
    if not enough:
        most = max(sizes, key=lambda name: sizes[name])
        return ErrorClusters(reason=why("few_clusters_to_control", n=sizes[most], unit=most, needed=ENOUGH_ANNOTATORS))
    if len(enough) > 1:
        enough = {name: of for name, of in enough.items() if sizes[name] < len(of_unit)} or {unit: of_unit}
    return ErrorClusters(of=tuple(enough.values()), named=" and ".join(enough))
