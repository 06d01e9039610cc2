"""Pages of the site that are made from the code: commands from their help, results.json from its schema, the API."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for name, text in (("commands.md", commands()), ("results.md", results()), ("api.md", api())):
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in tables that are made from the code, and let links to files outside of the pages name the files only."""
    from analysis.agreement.measures import markdown_table

    markdown = markdown.replace("<!-- measures of agreement -->", markdown_table())
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]+\)", r"\1", markdown)


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
    """Return results.json key by key, from its JSON Schema."""
    from analysis import results_schema

    parts = ["# results.json", "Everything that a report says, as data. Made from the JSON Schema in the package."]
    for key, about in results_schema()["properties"].items():
        parts += [f"## {key}", about.get("description", ""), *_fields(about)]
    return "\n\n".join(part for part in parts if part)


def _fields(about: dict[str, Any]) -> list[str]:
    inside = about.get("items", about)
    rows = [
        f"| `{name}` | {_type(field)} | {field.get('description', '')} |"
        for name, field in inside.get("properties", {}).items()
    ]
    if not rows:
        return []
    table = "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])
    nested = [part for name, field in inside["properties"].items() for part in _nested(name, field)]
    return [table, *nested]


def _nested(name: str, field: dict[str, Any]) -> list[str]:
    rows = _fields(field)
    return [f"### {name}", *rows] if rows else []


def _type(field: dict[str, Any]) -> str:
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    kind = field.get("type", "")
    return " or ".join(kind) if isinstance(kind, list) else kind


def api() -> str:
    """Return the public names of ``spa`` and ``analysis`` with their docstrings."""
    import analysis
    import spa

    parts = ["# Python API", "What `import analysis` and `import spa` offer, from the docstrings."]
    for package in (analysis, spa):
        parts.append(f"## {package.__name__}")
        for name in sorted(package.__all__, key=str.casefold):
            found = getattr(package, name)
            home = getattr(found, "__module__", None)
            if home is not None and callable(found):
                parts.append(f"::: {home}.{found.__name__}")
    return "\n\n".join(parts)
