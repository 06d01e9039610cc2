"""Files of tools that collect answers, known by their keys: neither outputs nor a row an answer."""

from __future__ import annotations

from collections.abc import Collection

PEARMUT = frozenset(("user_id", "item_i", "annotation"))  # of its annotations, a line a document and annotator


def annotations_of(columns: Collection[str]) -> str | None:
    """Name the tool whose annotations a file holds, by its columns.

    >>> annotations_of(["annotation", "actions", "item", "user_id", "item_i"]), annotations_of(["item", "user_id"])
    ('Pearmut', None)
    """
    return "Pearmut" if {*columns} >= PEARMUT else None
