"""What was shown with the answers beside it: pages for reading, a table, and the files under names of numbers."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl
from markupsafe import Markup

from spa.errors import ResponseError
from spa.exporters.export_format import ExportedFiles, ExportFormat, StudyExport
from spa.files import write_text, written_whole
from spa.forms.assets import inline_style
from spa.media import all_media, medium_of, thumbnail
from spa.records.clean_text import cleaned
from spa.records.form import Exhibit, Segment
from spa.records.materials import Material
from spa.records.outputs import Item, Output, Outputs
from spa.responses.table_files import write_table
from spa.responses.tidy_tables import Tables

ON_A_PAGE = 100  # items
FILES = "files"  # their folder
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
STYLE = """
body { max-inline-size: 92rem; margin: 0 auto; padding: 1rem; }
.outputs { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 1rem; }
article, .given { border: 1px solid var(--line); border-radius: var(--round); padding: 0.75rem; margin-block: 0.5rem; }
article img, .given img { max-block-size: 15rem; margin: 0; padding: 0; }
article ul { padding-inline-start: 1.2rem; margin-block: 0.5rem 0; }
"""
PAGE = Markup(
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta http-equiv="content-security-policy" content="{policy}">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
    "<style>{style}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{links}{items}{links}</body>\n</html>\n"
)
Place = tuple[str, str, int]  # item, system, sample


def _write(study: StudyExport, folder: Path) -> ExportedFiles:
    """Write ``shown-1.html``, ... with so many items each, ``shown.csv`` with a row a text or file, and the files."""
    outputs = study.outputs()
    answers = dict(_answers(study.tables))
    copied = _copied(outputs, folder / FILES)
    made: dict[str, list[Output]] = {}
    for one in outputs.all():
        made.setdefault(one.item_id, []).append(one)
    items = outputs.items
    pages = [items[start : start + ON_A_PAGE] for start in range(0, len(items), ON_A_PAGE)] or [items]
    style = Markup(inline_style(frozenset(medium.key for medium in all_media())) + STYLE)  # our own files
    rows: dict[Path, int | None] = {}
    for number, page in enumerate(pages, start=1):
        path = folder / f"shown-{number}.html"
        html = PAGE.format(
            policy=POLICY,
            title=study.title,
            style=style,
            links=_links(number, len(pages)),
            items=Markup("").join(_item(item, made.get(item.item_id, ()), answers, copied) for item in page),
        )
        write_text(path, html, private=True)
        rows[path] = len(page)
    table = pl.DataFrame([*_rows(outputs, copied)], schema=COLUMNS, orient="row")
    write_table(table, folder / "shown.csv", format="csv")
    rows[folder / "shown.csv"] = table.height
    if copied:
        rows[folder / FILES] = None
    return ExportedFiles(rows=rows)


COLUMNS = {
    "item_id": pl.String,
    "system": pl.String,
    "sample": pl.Int64,
    "kind": pl.String,
    "text": pl.String,
    "files": pl.String,
}


def _rows(
    outputs: Outputs, copied: Mapping[Path, str]
) -> Iterator[tuple[str, str | None, int | None, str, str | None, str]]:
    """Yield the rows of the table: of what systems were given, without a system, then of outputs."""
    for item in outputs.items:
        if item.is_given:
            yield item.item_id, None, None, item.medium, item.text, _named(item, copied)
    for one in outputs.all():
        yield one.item_id, one.system, one.sample, one.medium, one.text, _named(one, copied)


def _named(shown: Material, copied: Mapping[Path, str]) -> str:
    return " ".join(copied[file] for file in _files_of(shown))


def _files_of(shown: Material) -> tuple[Path, ...]:
    own = () if shown.shown_file is None else (shown.shown_file,)
    return (*own, *(one.shown_file for one in shown.within))


def _copied(outputs: Outputs, folder: Path) -> dict[Path, str]:
    """Copy every file that was shown and return the copies' names, which say nothing of a system."""
    files = dict.fromkeys(file for one in outputs.shown() for file in _files_of(one))
    names: dict[Path, str] = {}
    for number, file in enumerate(files, start=1):
        name = f"{number:04}{file.suffix.lower()}"
        try:
            with written_whole(folder / name, private=True) as temporary:
                shutil.copyfile(file, temporary)
        except OSError as error:
            raise ResponseError(f"{file}: expected a file that was shown, got {error.strerror}; put it back") from error
        names[file] = f"{FILES}/{name}"
    return names


def _item(
    item: Item, made: Iterable[Output], answers: Mapping[Place, Sequence[str]], copied: Mapping[Path, str]
) -> Markup:
    given = Markup('<div class="given">{}</div>\n').format(_shown(item, copied)) if item.is_given else Markup("")
    articles = Markup("").join(
        _output(one, answers.get((one.item_id, one.system, one.sample), ()), copied) for one in made
    )
    return Markup('<section>\n<h2 dir="auto">{}</h2>\n{}<div class="outputs">\n{}</div>\n</section>\n').format(
        item.item_id, given, articles
    )


def _output(output: Output, answers: Sequence[str], copied: Mapping[Path, str]) -> Markup:
    sample = f", sample {output.sample}" if output.sample > 1 else ""
    said = Markup("").join(Markup("<li>{}</li>\n").format(line) for line in answers or ("no answers",))
    return Markup('<article>\n<h3 dir="auto">{}</h3>\n{}<ul>\n{}</ul>\n</article>\n').format(
        f"{output.system}{sample}", _shown(output, copied), said
    )


def _shown(shown: Item | Output, copied: Mapping[Path, str]) -> Markup:
    """Return something as its raters saw it, its files small, with links to them."""
    exhibit = Exhibit(
        exhibit_id="",
        caption="",
        label=None,
        item_id=shown.item_id,
        medium=shown.medium,
        segments=() if shown.text is None else (Segment(text=cleaned(shown.text)),),
        file=shown.shown_file,
        seconds=shown.seconds,
        within=shown.within,
    )
    links = (Markup('<a href="{0}">{0}</a>').format(copied[file]) for file in _files_of(shown))
    files = Markup("<p>{}</p>\n").format(Markup(" ").join(links)) if _files_of(shown) else Markup("")
    return Markup("{}\n{}").format(medium_of(shown).shown(exhibit, thumbnail), files)


def _links(number: int, pages: int) -> Markup:
    if pages == 1:
        return Markup("")
    links = (
        Markup('<a href="shown-{0}.html">{0}</a>').format(one) if one != number else Markup(one)
        for one in range(1, pages + 1)
    )
    return Markup("<nav>{}</nav>\n").format(Markup(" ").join(links))


def _answers(tables: Tables) -> Iterator[tuple[Place, list[str]]]:
    """Yield what was answered about each output, a line for each kind of annotator, criterion and way of asking."""
    lines: dict[Place, list[str]] = {}
    for table, value, word in ((tables.ratings, "score", "rated"), (tables.orders, "rank", "put at place")):
        by = ["item_id", "system", "sample", "annotator_kind", "criterion", "elicitation"]
        found = table.filter(pl.col(value).is_not_null()).group_by(by, maintain_order=True)
        for row in found.agg(pl.col(value).mean().alias("mean"), pl.len().alias("n")).sort(by).iter_rows(named=True):
            _add(lines, row, f"{word} {row['mean']:.4g} on average")
    sides = [
        tables.choices.filter(pl.col("winner").is_not_null()).select(
            "item_id",
            pl.col(f"system_{side}").alias("system"),
            pl.col(f"sample_{side}").alias("sample"),
            "annotator_kind",
            "criterion",
            "elicitation",
            pl.when(pl.col("winner") == side)
            .then(1.0)
            .when(pl.col("winner") == "tie")
            .then(0.5)
            .otherwise(0.0)
            .alias("won"),
        )
        for side in "xy"
    ]
    by = ["item_id", "system", "sample", "annotator_kind", "criterion", "elicitation"]
    won = pl.concat(sides).group_by(by).agg(pl.col("won").mean(), pl.len().alias("n")).sort(by)
    for row in won.iter_rows(named=True):
        _add(lines, row, f"chosen in {row['won']:.0%}, ties as half")
    errors = tables.spans.filter(pl.col("severity").is_not_null()).group_by(by).len("n").sort(by)
    for row in errors.iter_rows(named=True):
        _add(lines, row, "errors marked")
    if (gambles := tables.more.get("gambles")) is not None:  # whose utilities have no mean over annotators
        set_against = gambles.filter(pl.col("utility").is_not_null()).group_by(by).len("n").sort(by)
        for row in set_against.iter_rows(named=True):
            _add(lines, row, "set against gambles")
    yield from lines.items()


def _add(lines: dict[Place, list[str]], row: Mapping[str, object], said: str) -> None:
    place = (str(row["item_id"]), str(row["system"]), int(str(row["sample"] or 1)))
    who = f"{row['criterion']}, {row['annotator_kind']}, {row['elicitation']}"
    lines.setdefault(place, []).append(f"{who}: {said} (n = {row['n']})")


FORMAT = ExportFormat(key="shown", holds=None, write=_write)
