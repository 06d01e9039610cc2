"""Marked errors as WMT's MQM ratings: a row an error, its place between ``<v>`` and ``</v>``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from spa.errors import ResponseError, shortened
from spa.exporters.export_format import ExportedFiles, ExportFormat, StudyExport, not_held
from spa.files import write_text
from spa.records.outputs import Outputs
from spa.widgets import NO_ERRORS

COLUMNS = ("system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category", "severity")
ELSE = ("annotator_kind", "criterion", "variant", "repeat")
WEIGHED = ("major", "minor", "neutral")  # severities that score_mqm.py knows; it gives others 0
PLAIN = str.maketrans("\t\n\r", "   ")  # what would end a cell or a row; as long, so that places stay


def _write(study: StudyExport, folder: Path) -> ExportedFiles:
    """Write ``mqm.tsv``; an output without errors has one row, an error without a place none of the marks.

    A document is an item and a segment one of its samples; segments are numbered without gaps.
    """
    outputs, left = study.outputs(), Counter[str]()
    rows = sorted(study.tables.spans.to_dicts(), key=lambda row: (row["item_id"], row["sample"]))
    rows = [row for row in rows if _is_held(row, left, _text(outputs, row))]
    segments = {key: place for place, key in enumerate(dict.fromkeys((r["item_id"], r["sample"]) for r in rows), 1)}
    first = {item: place for (item, _), place in reversed(segments.items())}
    lines = ["\t".join(COLUMNS)]
    for row in rows:
        item, place = row["item_id"], segments[row["item_id"], row["sample"]]
        text = _text(outputs, row)
        clean = row["reason"] == NO_ERRORS
        cells = {
            "system": row["system"],
            "doc": item,
            "docSegId": str(place - first[item] + 1),
            "globalSegId": str(place),
            "rater": row["annotator_id"],
            "source": outputs.item(item).text or "",
            "target": _marked(text, row["start"], row["end"]),
            "category": "No-error" if clean else row["category"] or "Other",
            "severity": "no-error" if clean else row["severity"].capitalize(),
        }
        left["tabs and line ends, as spaces"] += any(c in cells["source"] + text for c in "\t\n\r")
        lines.append("\t".join(_cell(cells[name].translate(PLAIN)) for name in COLUMNS))
    path = folder / "mqm.tsv"
    write_text(path, "\n".join(lines) + "\n", private=True)
    unknown = sorted({row["severity"] for row in rows if row["severity"]} - {*WEIGHED})
    weights = [f"severities {', '.join(unknown)} have no weight there: give yours, or they count 0"] if unknown else []
    said = [f"{what}: {count} of {study.tables.spans.height} rows" for what, count in left.items() if count]
    return ExportedFiles(rows={path: len(rows)}, notes=(*said, *weights, *not_held(study.tables.spans, ELSE)))


def _text(outputs: Outputs, row: dict[str, Any]) -> str:
    """Return the output in which errors were marked; raise ResponseError where it is gone."""
    try:
        return outputs.output(row["item_id"], row["system"], row["sample"]).text or ""
    except (KeyError, IndexError):
        raise ResponseError(
            f"item {shortened(repr(row['item_id']))}, system {shortened(repr(row['system']))}: expected the output "
            "that was read, got none; the files of outputs must be those of which the study was built"
        ) from None


def _is_held(row: dict[str, Any], left: Counter[str], text: str) -> bool:
    """Whether a row has a place in the file; count why not."""
    if row["missing_reason"] is not None:
        left["missing, left out"] += 1
    elif "<v>" in text or "</v>" in text:
        left["outputs that hold <v>, left out"] += 1
    else:
        return True
    return False


def _cell(text: str) -> str:
    """Quote a text that reads like a quoted cell; other quotes are text there."""
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1].replace('""', ""):
        return '"' + text.replace('"', '""') + '"'
    return text


def _marked(text: str, start: int | None, end: int | None) -> str:
    return text if start is None or end is None else f"{text[:start]}<v>{text[start:end]}</v>{text[end:]}"


FORMAT = ExportFormat(key="mqm", holds=("spans",), write=_write)
