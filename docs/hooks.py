"""Pages of the site that are made from the code: commands from their help, results.json from its schema, the API."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

SYSTEMS = Path(__file__).parents[1] / "tests" / "golden" / "rows.md"
IN_R = Path(__file__).parents[1] / "tests" / "r" / "in-r.Rmd"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    files.append(File.generated(config, "commands.md", content=commands()))
    files.append(File.generated(config, "r.md", content=in_r()))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Fill in what is made from the code, and let links to files outside of the pages name the files only."""
    from analysis.agreement.measures import markdown_table as measures
    from spa.importers import markdown_table as formats

    if page.file.src_uri == "python.md":
        return "\n\n".join([markdown, results(), api()])
    markdown = markdown.replace("<!-- measures of agreement -->", measures())
    markdown = markdown.replace("<!-- what files mean -->", formats())
    markdown = markdown.replace("<!-- systems of the papers -->", systems())
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]+\)", r"\1", markdown)


def systems() -> str:
    """Return the systems of the papers, without the title of their table."""
    return SYSTEMS.read_text(encoding="utf-8").partition("\n\n")[2]


def in_r() -> str:
    """Return the page that R runs, its chunks as code to read."""
    return re.sub(r"(?m)^```\{r [^}]*\}$", "```r", IN_R.read_text(encoding="utf-8"))


def commands() -> str:
    """Return every command with the help that it prints."""
    parts = ["# Commands", "Every command prints this with `--help`."]
    for point in sorted(entry_points(group="spa.commands"), key=lambda point: point.name):
        parts += _command(point.load(), f"spa {point.name}", level=2)
    return "\n\n".join(parts)


def _command(command: click.Command, name: str, *, level: int) -> list[str]:
    with click.Context(command, info_name=name, max_content_width=100) as context:
        parts = [f"{'#' * level} {name}", f"```text\n{command.get_help(context)}\n```"]
        if isinstance(command, click.Group):
            for sub in command.list_commands(context):
                found = command.get_command(context, sub)
                if found is not None:
                    parts += _command(found, f"{name} {sub}", level=level + 1)
    return parts


def results() -> str:
    """Return results.json key by key, then record by record, from its JSON Schema."""
    from analysis import results_schema

    schema = results_schema()
    parts = ["## results.json", "Everything that a report says, as data, from the JSON Schema in the package."]
    parts.append(_fields(schema))
    for name, record in schema["$defs"].items():
        parts += [f"### {name}", record.get("description", ""), _fields(record)]
    return "\n\n".join(part for part in parts if part)


def _fields(record: dict[str, Any]) -> str:
    rows = [
        f"| `{name}` | {_type(field)} | {field.get('description', '')} |"
        for name, field in record.get("properties", {}).items()
    ]
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])


def _type(field: dict[str, Any]) -> str:
    """Return the words for a type; that of a record is a link to it."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join("null" if value is None else f"`{value}`" for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(_type(part) for part in field["anyOf"])
    kinds = field.get("type", "")
    words = " or ".join(kinds) if isinstance(kinds, list) else kinds
    return f"{words} of {_type(field['items'])}" if field.get("items") else words


def api() -> str:
    """Return the public names of ``spa`` and ``analysis`` with their docstrings."""
    import analysis
    import spa

    parts = []
    for package in (analysis, spa):
        parts.append(f"## Functions and classes of `{package.__name__}`")
        for name in sorted(package.__all__, key=str.casefold):
            found = getattr(package, name)
            home = getattr(found, "__module__", None)
            if home is not None and callable(found):
                parts.append(f"::: {home}.{found.__name__}")
    return "\n\n".join(parts)
