"""Answers as other tools read them: one module a format.

To add one, write ``spa/exporters/TOOL.py`` with a ``FORMAT`` (see :mod:`spa.exporters.export_format`) and name it here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spa.exporters.export_format import ExportFormat

FORMATS = (  # modules, each loaded when its format is asked for
    "spa.exporters.arena",
    "spa.exporters.huggingface",
    "spa.exporters.inspect",
    "spa.exporters.mqm",
    "spa.exporters.shown",
)


def export_keys() -> tuple[str, ...]:
    """Return the names of all formats, in order, without loading any."""
    return tuple(place.rpartition(".")[2] for place in FORMATS)


def exporter_of(key: str) -> ExportFormat:
    """Return the format of a name; raise KeyError where there is none."""
    found: ExportFormat = import_module(dict(zip(export_keys(), FORMATS, strict=True))[key]).FORMAT
    return found
