"""Whether two results.json say the same: ``python -m tests.compare_results BEFORE AFTER``.

Numbers are compared to 10 significant digits. Keys renamed since schema 1 are followed, keys and rows
of kinds that BEFORE does not know are listed and are no difference.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

RENAMED = {"lopsided": "highly_skewed"}
REWORDED = {"lopsided": "highly skewed", "sharpen people": "are added to people", "leaning": "bias"}
KINDS = ("measure", "term", "method")  # fields whose new values make rows of a new kind
UNCOMPARED = {"schema", "versions"}
SHOWN = 20


def differences(before: Any, after: Any, where: str = "", added: set[str] | None = None) -> Iterator[str]:
    """Yield where two values differ, and collect in ``added`` what only the second has."""
    added = set() if added is None else added
    if isinstance(before, dict) and isinstance(after, dict):
        before = {_renamed(key, after): value for key, value in before.items() if key not in UNCOMPARED}
        added |= {f"{_kind(where)}.{key}" for key in set(after) - set(before) - UNCOMPARED}
        for key, value in before.items():
            if key in after:
                yield from differences(value, after[key], f"{where}.{key}", added)
            else:
                yield f"{where}.{key}: absent, was {value!r}"
    elif isinstance(before, list) and isinstance(after, list):
        kept = _of_known_kinds(before, after)
        if len(kept) < len(after):
            added.add(f"{_kind(where)}: {len(after) - len(kept)} rows of a new kind")
        if len(kept) != len(before):
            yield f"{where}: {len(kept)} rows, were {len(before)}"
        for place, (one, other) in enumerate(zip(before, kept, strict=False)):
            yield from differences(one, other, f"{where}[{place}]", added)
    elif not _equal(before, after, where):
        yield f"{where}: {after!r}, was {before!r}"


def _renamed(key: str, after: dict[str, Any]) -> str:
    return key if key in after else RENAMED.get(key, key)


def _kind(where: str) -> str:
    return "".join(part.split("]")[-1] for part in where.split("["))


def _of_known_kinds(before: list[Any], after: list[Any]) -> list[Any]:
    """Leave out the rows of a measure, method or term that the rows before do not name."""
    kept = after
    for name in KINDS:
        known = {row[name] for row in before if isinstance(row, dict) and row.get(name)}
        known |= {_reworded(word) for word in known}
        if known:
            kept = [row for row in kept if row.get(name) in known]
    return kept


def _reworded(text: str) -> str:
    for old, new in REWORDED.items():
        text = text.replace(old, new)
    return text


def _equal(before: Any, after: Any, where: str) -> bool:
    if isinstance(before, str):
        return after in (before, _reworded(before))
    numbers = [type(value) in (int, float) for value in (before, after)]
    if all(numbers):
        near_zero = 0.0 if where.rsplit(".", 1)[-1].startswith("p_") else 1e-13
        return math.isclose(before, after, rel_tol=1e-10, abs_tol=near_zero)
    return type(before) is type(after) and bool(before == after)


def main(before: str, after: str) -> int:
    """Print the first differences and what was added; return 1 where there is a difference."""
    added: set[str] = set()
    one, other = (json.loads(Path(path).read_text(encoding="utf-8")) for path in (before, after))
    found = list(differences(one, other, added=added))
    for line in found[:SHOWN]:
        click.echo(line)
    if added:
        click.echo(f"added: {', '.join(sorted(added))}")
    click.echo(f"{len(found)} differences" if found else "equal")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
