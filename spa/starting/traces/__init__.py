"""Answers in traces and chat logs: one module a tool that writes them, of which the first that fits reads a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType

from spa.starting.found import FoundOutputs
from spa.starting.traces import chat_logs, langfuse, langsmith, litellm, mlflow, open_telemetry, openai_batch, phoenix
from spa.starting.traces.answers import answers_of
from spa.starting.traces.layout import FILE, Placed, TraceTool, spans_of
from spa.starting.traces.requests import requests_in
from spa.study.output_files import LINES, display_path
from spa.tables.reading import table_stem, table_suffix
from spa.tables.source import Source

TOOLS: tuple[TraceTool, ...] = (
    litellm.TOOL,
    phoenix.TOOL,
    phoenix.LISTED,
    open_telemetry.OTLP,
    open_telemetry.SDK,
    langsmith.TOOL,
    langfuse.TOOL,
    mlflow.TOOL,
    openai_batch.TOOL,
    chat_logs.TOOL,
    chat_logs.CHAT,
)
LOOKED_AT = 50  # records that tell of which tool a file is
NOTHING_SETTLED: Mapping[str, str] = MappingProxyType({})


def traces_in(sources: Sequence[Source], *, settled: Mapping[str, str] = NOTHING_SETTLED) -> FoundOutputs | None:
    """Return the answers in traces or chat logs; ``None`` where the files hold no such thing.

    Parameters
    ----------
    sources : sequence of Source
        Files that belong together: a trace may stand in several. Every column is readable.
    settled : mapping of str to str
        Answers to open questions by their keys: ``system`` (a path in the records), ``same-names`` ("one", "apart"),
        ``repeats`` ("samples", "first", "last"), ``fallbacks`` ("first", "all").

    Returns
    -------
    Found or None
        Answers sorted by when their item was first asked, then by system; the same however the rows are ordered or
        split into files. As long as something is asked, two answers of one system to one item may both stand there.

    Raises
    ------
    TableError
        Where the files are traces, but nothing was answered, or nothing says which system did.
    """
    rows: dict[str, list[Placed]] = {}
    tools: dict[str, TraceTool] = {}
    caveats: dict[str, None] = {}
    for source in sources:
        records = records_of(source)
        tool = next((one for one in TOOLS if records and one.fits(source.schema, records[:LOOKED_AT])), None)
        if tool is None:
            return None
        tools[tool.name] = tool
        rows.setdefault(tool.name, []).extend(records)
        caveats |= dict.fromkeys(tool.caveats(records))
    spans = [span for name, tool in tools.items() for span in spans_of(tool, rows[name])]
    if not spans:
        return None
    left = Counter[str]()
    return answers_of(requests_in(spans, left), left, settled, caveats=caveats)


def records_of(source: Source) -> list[Placed]:
    """Return the rows of a file as objects, without what is null, and with the name of the file."""
    unit = "line" if (table_suffix(source.place) or "").startswith(LINES) else "row"
    numbers, place = source.numbers(), display_path(Path(source.place))
    records: list[dict[str, object]] = [{FILE: table_stem(PurePath(source.place).name)} for _ in numbers]
    for name in source.schema:
        for record, value in zip(records, source.values(name), strict=True):
            if value is not None:
                record[name] = value
    return [Placed(f"{place} {unit} {number}", record) for number, record in zip(numbers, records, strict=True)]
