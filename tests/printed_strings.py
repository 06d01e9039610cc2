"""Every string that a user can read, one a line: ``python -m tests.printed_strings [PACKAGE ...]``.

Found in the syntax trees: texts of reports, messages, warnings, the dashboard and the command line (help included),
and the words in templates and in the languages of the form. Left out are docstrings (but of commands, whose help they
are), keys, annotations, patterns, SQL and what has neither a space nor a capital at its start. A text with fields
reads "{...}" where a value goes in.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

import spa

ROOT = Path(spa.__file__).parents[1]  # the checkout, or where the wheel is installed
PACKAGES = ("analysis", "spa", "streamlit_app", "mturk", "prolific")
UNPRINTED_CALLS = {  # whose arguments nobody reads
    *("compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer", "exec_driver_sql", "execute"),
    *("getattr", "hasattr", "setattr", "get", "pop", "TypeVar", "NewType", "import_module", "strftime", "startswith"),
    *("endswith", "removeprefix", "removesuffix", "getLogger", "encode", "decode", "open", "glob", "rglob"),
}
UNREAD = re.compile(r"^(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|BEGIN|FROM|WHERE|WITH|ORDER|https?:)\b")
MARKUP = re.compile(r"^\s*(<|\{(?!\.\.\.\})|\.\w|[#@:])|^[\w-]+ *:[^ ]|[{};]\s*$(?<!\{\.\.\.\})|</")  # HTML, CSS, JSON
READ = re.compile(r"[A-Za-z]{2,} |^[A-Z][a-z]+\W*$| [A-Za-z]{2,}")
TEXT_OF_TEMPLATE = re.compile(r"\{[{%#].*?[}%#]\}|<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL)


class Printed(NamedTuple):
    """A text and where it stands."""

    file: str
    line: int
    text: str


def printed_strings(packages: tuple[str, ...] = PACKAGES) -> Iterator[Printed]:
    """Yield the texts of some packages, file by file."""
    for path in sorted(path for package in packages for path in (ROOT / package).rglob("*")):
        name = str(path.relative_to(ROOT))
        if path.suffix == ".py":
            for line, text in sorted(_of_code(ast.parse(path.read_text(encoding="utf-8")))):
                yield Printed(name, line, text)
        elif path.suffix in (".html", ".j2"):
            for part in TEXT_OF_TEMPLATE.sub("\n", path.read_text(encoding="utf-8")).splitlines():
                if READ.search(part):
                    yield Printed(name, 0, " ".join(part.split()))
        elif path.suffix == ".toml" and "locale" in name:
            for text in _texts(tomllib.loads(path.read_text(encoding="utf-8"))):
                yield Printed(name, 0, " ".join(text.split()))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _of_code(tree: ast.Module) -> Iterator[tuple[int, str]]:
    unread = set(_unread(tree))
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in unread or id(node) in inside:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{...}" for part in node.values)
        else:
            continue
        text = " ".join(text.split())
        if READ.search(text) and not UNREAD.match(text) and not MARKUP.search(text):
            yield node.lineno, text


def _unread(tree: ast.Module) -> Iterator[int]:
    """Yield the ids of nodes that nobody reads: docstrings, keys, annotations, arguments of patterns and the like."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef | ast.Module):
            first = node.body[0] if node.body else None
            command = any("command" in ast.unparse(one) or "group" in ast.unparse(one) for one in _decorators(node))
            if isinstance(first, ast.Expr) and not command:
                parts.append(first)
        if isinstance(node, ast.ClassDef):  # the words on the field above them
            parts += [one for one in node.body if isinstance(one, ast.Expr)]
        if isinstance(node, ast.arg | ast.AnnAssign):
            parts.append(node.annotation)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts.append(node.returns)
        if isinstance(node, ast.Subscript):
            parts.append(node.slice)
        if isinstance(node, ast.Compare) and not isinstance(node.left, ast.JoinedStr):
            parts += [node.left, *node.comparators]
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            parts += node.args if name in UNPRINTED_CALLS else []
        for part in parts:
            yield from (id(inner) for inner in ast.walk(part)) if part is not None else ()


def _decorators(node: ast.AST) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


@click.command()
@click.argument("packages", nargs=-1, type=click.Choice(PACKAGES))
def main(packages: tuple[str, ...]) -> None:
    """Print every string that a user can read, of some packages or of all."""
    for found in printed_strings(packages or PACKAGES):
        click.echo(f"{found.file}:{found.line}: {found.text}")


if __name__ == "__main__":
    main()
