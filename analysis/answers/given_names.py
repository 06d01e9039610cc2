"""Names that options give, as the tables write them."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import replace

from analysis.answers.plan import Plan
from analysis.answers.same_names import Renamed

FRACTION = ".0"  # what pandas writes behind whole numbers in a column that has gaps
FRACTIONAL = r"^[0-9]+\.0$"


def written(name: str, known: Collection[str], renamed: Mapping[str, str]) -> str:
    """Return a name that an option gives as the tables write it, where they have it in any way.

    >>> written("2.0", {"1", "2"}, {}), written(" b", {"c"}, {"b": "c"}), written("x", {"y"}, {})
    ('2', 'c', 'x')
    """
    composed = unicodedata.normalize("NFC", name.strip())
    whole = composed.removesuffix(FRACTION)
    for one in (name, composed, whole if whole.isascii() and whole.isdecimal() else composed):
        if one in renamed:
            return renamed[one]
        if one in known:
            return one
    return name


def written_plan(plan: Plan, systems: Collection[str], criteria: Collection[str], renamed: Renamed) -> Plan:
    """Return the plan with the names of systems and criteria as the tables write them."""

    def system(name: str) -> str:
        return written(name, systems, renamed.get("system", {}))

    return replace(
        plan,
        expected=tuple(
            replace(one, system_x=system(one.system_x), system_y=system(one.system_y)) for one in plan.expected
        ),
        pairs=tuple((system(x), system(y)) for x, y in plan.pairs),
        references=tuple(map(system, plan.references)),
        lower_is_better=frozenset(
            written(name, criteria, renamed.get("criterion", {})) for name in plan.lower_is_better
        ),
    )
