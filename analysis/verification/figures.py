"""Where p-values, strengths and kappas stand in results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.statistics.record import Record, fields_of

NAMED = frozenset({"strength", "strength_half", "controlled", "kappa", "cohen_kappa", "place_p"})
KAPPAS = frozenset({"cohen_kappa", "fleiss_kappa"})  # measures whose value is one


def figures_of(results: Record) -> dict[str, float]:
    """Return every p-value, strength and kappa of results by its path."""
    return dict(_figures(results, ""))


def _figures(value: Any, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Record):
        fields = fields_of(value)
        kappa = fields.get("measure") in KAPPAS
        for name, own in fields.items():
            place = f"{path}.{name}" if path else name
            if type(own) is not float:
                yield from _figures(own, place)
            elif name.startswith("p_") or name in NAMED or (kappa and name == "value"):
                yield place, own
    elif isinstance(value, Mapping):
        for name, own in value.items():
            yield from _figures(own, f"{path}.{name}")
    elif isinstance(value, tuple | list):
        for number, own in enumerate(value):
            yield from _figures(own, f"{path}[{number}]")
