"""The pages of the site as files that any builder renders: those of this folder, and what is made from the code.

``python docs/pages.py FOLDER`` fills in commands from their help, results.json from its schema, the API, made tables.
"""

from __future__ import annotations

import re
import shutil
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SYSTEMS = ROOT / "tests" / "golden" / "rows.md"
IN_R = ROOT / "tests" / "r" / "in-r.Rmd"
COMMANDS, IN_R_PAGE = "commands.md", "r.md"  # made whole
LLMS = "llms.txt"  # of the repository, on the site too


def write_pages(folder: Path) -> list[str]:
    """Write all pages and what they show into a folder, in place of what is there; return their names.

    A folder with anything but pages is refused with FileExistsError.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / COMMANDS).is_file():
        raise FileExistsError(f"{folder}: expected a new folder or one with pages, got another")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copyfile(ROOT / LLMS, folder / LLMS)
    for page in sorted(folder.glob("*.md")):
        page.write_text(filled(page.name, page.read_text(encoding="utf-8")), encoding="utf-8")
    for name, text in ((COMMANDS, commands()), (IN_R_PAGE, in_r())):
        (folder / name).write_text(filled(name, text.rstrip("\n")) + "\n", encoding="utf-8")
    return sorted(path.name for path in folder.glob("*.md"))


def filled(name: str, markdown: str) -> str:
    """Fill in what is made from the code, and let links to files outside of the pages name the files only."""
    from analysis.agreement.measures import markdown_table as measures
    from spa.importers import markdown_table as formats

    if name == "python.md":
        return "\n\n".join([markdown, results(), api()]) + "\n"
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


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
