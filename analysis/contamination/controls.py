"""Texts of which it is known whether a model has seen them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.answers.study_texts import SEEN, UNSEEN, StudyText
from spa.errors import AnalysisError

SAYS = {"true": SEEN, "1": SEEN, "yes": SEEN, "false": UNSEEN, "0": UNSEEN, "no": UNSEEN}


def read_controls(path: Path) -> list[StudyText]:
    """Read labelled texts: a table with the columns ``text`` and ``seen`` (true or false).

    Raises
    ------
    AnalysisError
        If the file cannot be read, or a row lacks one of them.
    """
    from analysis.answers.reading import read_raw
    from spa.tables.options import TableOptions

    table = read_raw(path, TableOptions(), frozenset({"text", "seen"}))
    missing = [name for name in ("text", "seen") if name not in table.frame.columns]
    if missing:
        raise AnalysisError(f"{path}: expected the columns text and seen, got no {missing[0]}; add it")
    return list(_controls(path, table.numbers(), table.frame.select("text", "seen").iter_rows()))


def _controls(path: Path, numbers: Sequence[int], rows: Iterator[tuple[str | None, str | None]]) -> Iterator[StudyText]:
    for number, (text, seen) in zip(numbers, rows, strict=True):
        if not text:
            raise AnalysisError(f"{path} row {number}: expected a text, got nothing; remove the row")
        source = SAYS.get((seen or "").strip().lower())
        if source is None:
            raise AnalysisError(f"{path} row {number}: expected seen to be true or false, got {seen!r}; correct it")
        yield StudyText(source=source, item_id=str(number), text=text)
