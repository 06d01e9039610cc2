"""The page that ``spa contamination`` writes beside a study, with its table and figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.answers.sidecars import read_record, read_sidecar, record_text
from analysis.contamination.results import Contamination
from analysis.contamination.section import NAME, contamination_blocks, figure, question, settings_words
from analysis.printing.document import Document, Section
from analysis.printing.words import slug
from analysis.report.csv_tables import render_csv
from analysis.report.html import render_html
from analysis.report.markdown import render_markdown
from spa.errors import AnalysisError
from spa.files import write_text


def write_page(contamination: Contamination, rows: Sequence[Mapping[str, object]], folder: Path) -> list[Path]:
    """Write contamination.json, .html, .md, .csv with a row a text, and the figure; return their paths.

    Where the folder has those of another model, this one's name is in the names of its files.
    """
    stem = _stem(contamination, folder)
    section = Section(id=NAME, title="Contamination", blocks=tuple(contamination_blocks(contamination, stem)))
    document = Document(
        title=question(contamination), subtitle=settings_words(contamination), language="en", sections=(section,)
    )
    files = {
        f"{stem}.json": record_text(contamination),
        f"{stem}.html": render_html(document),
        f"{stem}.md": render_markdown(document),
        f"{stem}.csv": render_csv(rows),
        f"figures/{stem}.svg": figure(contamination),
    }
    for name, text in files.items():
        write_text(folder / name, text)
    return [folder / name for name in files]


def _stem(found: Contamination, folder: Path) -> str:
    """Return the name of this model's files: that of its last ones, or one that no other model's have."""
    held: dict[str, str | None] = {}
    for path in sorted(folder.glob(f"{NAME}*.json")):
        try:
            held[path.stem] = read_record(read_sidecar(path), Contamination).model
        except AnalysisError:  # to be written anew
            held[path.stem] = None
    own = [stem for stem, model in held.items() if model == found.model]
    free = NAME if held.get(NAME) is None else f"{NAME}-{slug(found.model)}"
    return own[0] if own else free
