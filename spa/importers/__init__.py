"""Answers collected with other tools, as tidy tables: one module, or folder, a format.

To add one, write ``spa/importers/TOOL.py`` with a ``FORMAT`` (see :mod:`spa.importers.answer_format`) and name it here.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from spa.errors import ResponseError, shortened
from spa.importers.answer_format import AnswerFormat, Fit

FORMATS = (  # modules, each loaded when its format is asked for
    "spa.importers.alpaca_eval",
    "spa.importers.arena",
    "spa.importers.arena_hard",
    "spa.importers.argilla",
    "spa.importers.csv",
    "spa.importers.doccano",
    "spa.importers.esa",
    "spa.importers.feedback",
    "spa.importers.gradio",
    "spa.importers.inspect",
    "spa.importers.jspsych",
    "spa.importers.judge_bench",
    "spa.importers.judgearena",
    "spa.importers.label_studio",
    "spa.importers.mlflow",
    "spa.importers.mqm",
    "spa.importers.mturk",
    "spa.importers.otree",
    "spa.importers.p808",
    "spa.importers.phoenix",
    "spa.importers.potato",
    "spa.importers.prolific",
    "spa.importers.promptfoo",
    "spa.importers.qualtrics",
    "spa.importers.surveyjs",
    "spa.importers.webmushra",
)


def format_keys() -> tuple[str, ...]:
    """Return the names of all formats, in order, without loading any."""
    return tuple(place.rpartition(".")[2].replace("_", "-") for place in FORMATS)


def format_of(key: str) -> AnswerFormat:
    """Return the format of a name; raise KeyError where there is none."""
    found: AnswerFormat = import_module(dict(zip(format_keys(), FORMATS, strict=True))[key]).FORMAT
    return found


def format_for(path: Path, named: str | None = None) -> AnswerFormat | None:
    """Return the format that is named, or else the one that fits a file or folder; ``None`` where none does.

    Raise ResponseError where no format has that name, and where several fit alike.
    """
    if named is not None:
        if named not in format_keys():
            known = ", ".join(format_keys())
            raise ResponseError(f"--from: expected one of {known}, got {shortened(repr(named))}")
        return format_of(named)
    fitting = recognised(path)
    if len(fitting) > 1:
        names = " or ".join(f"--from {one.key}" for one in fitting)
        raise ResponseError(f"{path}: its format may be one of several; say which with {names}")
    return fitting[0] if fitting else None


def format_by_mapping(path: Path) -> AnswerFormat | None:
    """Return the one format that a file may be of, of those that a mapping says how to read; ``None`` of several."""
    found = [one for one in map(format_of, format_keys()) if one.mapping is not None and one.recognise(path)]
    return found[0] if len(found) == 1 else None


def recognised(path: Path) -> tuple[AnswerFormat, ...]:
    """Return the formats that fit a file or folder best: none, one, or several between which the user decides."""
    return _best(path)[1]


def certain_format(path: Path) -> AnswerFormat | None:
    """Return the format whose tool alone writes such a file or folder; ``None`` where any may, or several do."""
    found = certain_formats(path)
    return found[0] if len(found) == 1 else None


def certain_formats(path: Path) -> tuple[AnswerFormat, ...]:
    """Return the formats whose tools write such a file or folder, and no others; several where they look alike."""
    fit, found = _best(path)
    return found if fit == Fit.CERTAIN else ()


def _best(path: Path) -> tuple[Fit, tuple[AnswerFormat, ...]]:
    fits = [(found.recognise(path), found) for found in map(format_of, format_keys())]
    best = max((fit for fit, _ in fits), default=Fit.NONE)
    return best, tuple(found for fit, found in fits if fit == best) if best else ()


def markdown_table() -> str:
    """Return what the files of each format mean, as a table of Markdown."""
    found = [(key, format_of(key).meaning) for key in format_keys()]
    rows = ["| format | which side | ties | missing | left out | seen |", "|---|---|---|---|---|---|"]
    for key, own in ((key, own) for key, own in found if own is not None):
        cells = [f"`{key}`", own.sides, own.ties, own.missing, own.left_out, f"[{own.seen}]({own.source})"]
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') or '-' for cell in cells)} |")
    return "\n".join(rows)
