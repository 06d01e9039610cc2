"""A study file with some numbers changed and every comment kept."""

from __future__ import annotations

import tomlkit


def with_plan(text: str, *, annotators: int, exposure: int | None) -> str:
    r"""Return a study file with the number of annotators and, for SPA, the outputs that each reads of a system.

    >>> with_plan('id = "s"  # kept\n', annotators=40, exposure=None)
    'id = "s"  # kept\n\n[people]\nannotators = 40\n'
    """
    document = tomlkit.parse(text)
    document.setdefault("people", tomlkit.table())["annotators"] = annotators
    spa = document.get("spa")
    if exposure is not None and spa is not None and "exposure_study" not in spa:
        spa["exposure"] = exposure
    return tomlkit.dumps(document)
