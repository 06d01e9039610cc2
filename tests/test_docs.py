"""What the documents say is true: commands exist, links lead somewhere, the README's commands run."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands_in(text: str) -> set[str]:
    """Return the names after ``spa`` in the console blocks of a document."""
    blocks = re.findall(r"^```(?:console|bash|sh)\n(.*?)^```", text, flags=re.M | re.S)
    return {name for block in blocks for name in re.findall(r"(?:^|\$ )spa ([a-z][a-z-]*)", block, flags=re.M)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_within_the_repository_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text())
    local = [target for target in targets if not target.startswith(("http:", "https:", "mailto:"))]
    assert [target for target in local if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_shown_exists(document: Path) -> None:
    registered = {point.name for point in entry_points(group="spa.commands")}
    assert commands_in(document.read_text()) <= registered


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [point.name for point in entry_points(group="spa.commands") if f"spa {point.name}" not in readme] == []


def test_every_invariant_in_the_architecture_names_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) >= 8
    for path, function in named:
        assert f"def {function}(" in (ROOT / path).read_text(), f"{path}::{function}"


def test_every_document_has_a_place_in_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text()
    documents = [path.name for path in sorted((ROOT / "docs").glob("*.md"))]
    assert [name for name in documents if not re.search(rf"(- |: ){re.escape(name)}$", nav, flags=re.M)] == []
