"""The site's pages as files: whole, the same each time, each with its place; and llms.txt, which names them all."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tests.test_docs import PROJECT, ROOT

SOURCE = f"{PROJECT['urls']['Source']}/blob/main/"
NAV = re.findall(r"(?:- |: )(\w[\w-]*\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.M)


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    spec = spec_from_file_location("site_pages", ROOT / "docs" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def written(pages: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    assert pages.write_pages(folder) == sorted(NAV)
    return folder


def test_pages_leave_nothing_to_a_builder(written: Path) -> None:
    """No mark of something to be made, no link that leads out of the pages or nowhere."""
    for page in written.glob("*.md"):
        text = page.read_text()
        assert "<!--" not in text, page.name
        prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)
        links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose)
        local = [link for link in links if not link.startswith(("http:", "https:", "mailto:"))]
        assert [link for link in local if not (written / link).is_file()] == [], page.name
    assert not list(written.rglob("*.py"))


def test_pages_hold_what_is_made_from_the_code(written: Path) -> None:
    assert "## spa replay" in (written / "commands.md").read_text()
    assert "## results.json" in (written / "python.md").read_text()
    assert (written / "llms.txt").read_bytes() == (ROOT / "llms.txt").read_bytes()


def test_pages_are_the_same_each_time(pages: ModuleType, written: Path, tmp_path: Path) -> None:
    """Also where there were others before; a folder with something else is left alone."""
    pages.write_pages(tmp_path / "again")
    (tmp_path / "again" / "former.md").write_text("Gone.")
    pages.write_pages(tmp_path / "again")
    found = [
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (written, tmp_path / "again")
    ]
    assert found[0] == found[1]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.md").write_text("Mine.")
    with pytest.raises(FileExistsError):
        pages.write_pages(tmp_path / "mine")
    assert (tmp_path / "mine" / "notes.md").read_text() == "Mine."


def test_llms_txt_names_every_page_once_in_order() -> None:
    """A title, a summary, then lists of links under headings, as llmstxt.org has it; addresses are whole."""
    text = (ROOT / "llms.txt").read_text()
    assert re.match(r"# spa-eval\n\n> [^\n]+\n(> [^\n]+\n)*\n[^#>-]", text)
    first, *sections = re.split(r"^## .+\n\n", text, flags=re.M)
    assert "](" not in first
    lines = [line for section in sections for line in section.splitlines() if line]
    named = [re.fullmatch(rf"- \[[^\]]+\]\({re.escape(SOURCE)}([^)]+)\): \S.*", line) for line in lines]
    assert [line for line, found in zip(lines, named, strict=True) if found is None] == []
    paths = [found[1] for found in named if found is not None]
    assert [path for path in paths if not (ROOT / path).is_file() and path.endswith(".md")] == []
    assert [path.removeprefix("docs/") for path in paths if path.startswith("docs/")] == [
        page for page in NAV if page not in ("commands.md", "r.md")
    ]
    assert len(set(paths)) == len(paths)
