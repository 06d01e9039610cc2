"""What the documents say is true: commands exist, links lead somewhere, the README's commands run."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import spa
from tests.guides.servers import server_name
from tests.parsed_commands import examples, mistake_in
from tests.shell_lines import fenced, programs, shell_commands, spoken_of

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def is_spa(words: Sequence[str]) -> bool:
    return words[0] == "spa"


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCE = PROJECT["urls"]["Source"]
PUBLISHED = (f"{SOURCE}/blob/main/", f"{SOURCE.replace('//github.com/', '//raw.githubusercontent.com/')}/main/")


def in_the_repository(link: str) -> str | None:
    """Return the path of a file that a link to the published repository names."""
    return next((link.removeprefix(base) for base in PUBLISHED if link.startswith(base)), None)


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), flags=re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "link", [*re.findall(r"\]\((https://[^)\s]+)\)", (ROOT / "README.md").read_text()), *PROJECT["urls"].values()]
)
def test_addresses_of_the_repository_are_of_files_that_it_has(link: str) -> None:
    place, _, anchor = link.partition("#")
    path = in_the_repository(place)
    if path is None:
        assert not place.startswith(SOURCE) or place in (SOURCE, f"{SOURCE}/issues")
    else:
        assert (ROOT / path).is_file()
        assert not anchor or anchor in anchors(ROOT / path)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_within_the_repository_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text())
    made = ["commands.md", "r.md"]  # pages that docs/pages.py makes
    local = [target for target in targets if not target.startswith(("http:", "https:", "mailto:", *made))]
    packages = Path(spa.__file__).parents[1]  # which may be installed elsewhere
    places = (document.parent, packages, packages / "docs")
    assert [
        target for target in local if not any(Path(os.path.normpath(place / target)).exists() for place in places)
    ] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_shown_can_be_typed(document: Path) -> None:
    """Sub-commands, options, arguments and choices; ``tests/test_guides.py`` runs them."""
    shown = [(command, words[1:]) for command in shell_commands(document) for words in command.parts if is_spa(words)]
    assert [f"{command} ({wrong})" for command, words in shown if (wrong := mistake_in(words))] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_in_a_sentence_exists(document: Path) -> None:
    named = [programs(text)[0] for text in spoken_of(document)]
    assert [(words, wrong) for words in named if (wrong := mistake_in(words[1:], named_only=True))] == []


def test_commands_of_services_and_containers_can_be_typed() -> None:
    found = []
    for document in (ROOT / "docs" / "deploy").iterdir():
        found += re.findall(r"^ExecStart=\S*/(spa .*)$", document.read_text(), flags=re.M)
        listed = re.findall(r"^(?:CMD| +command:) (\[.*\])$", document.read_text(), re.M)
        found += [shlex.join(json.loads(words)) for words in listed]
    assert len(found) >= 4
    assert [(text, wrong) for text in found if (wrong := mistake_in(programs(text)[0][1:]))] == []


def test_the_examples_of_all_help_texts_can_be_typed() -> None:
    shown = list(examples())
    assert len(shown) >= 60
    assert [(words, wrong) for words in shown if (wrong := mistake_in(words[1:]) if is_spa(words) else "not spa")] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("spa publish", "spa: No such command 'publish'."),
        ("spa prolific publsh study.toml", "spa prolific: No such command 'publsh'. Did you mean 'publish'?"),
        ("spa check study.toml --all", "spa check: No such option '--all'."),
        ("spa import potato --map import.toml --out tables", "spa import potato: Missing argument 'FOLDER'."),
        ("spa check study.toml other.toml", "spa check: Got unexpected extra argument (other.toml)"),
        (
            "spa serve study.toml --port web",
            "spa serve: Invalid value for '--port': 'web' is not a valid integer range.",
        ),
        ("spa simulate study.toml --likert-reversal one", "spa: Option '--likert-reversal' requires 2 arguments."),
    ],
)
def test_what_cannot_be_typed_is_seen(text: str, wrong: str) -> None:
    assert mistake_in(programs(text)[0][1:]) == wrong


def test_a_shell_block_is_read_as_a_shell_reads_it(tmp_path: Path) -> None:
    document = tmp_path / "guide.md"
    document.write_text(
        "```console\n$ spa build s.toml \\\n    --seed 3   # again\n72 assignments\n$ A=1 spa status 'a b' | cat > x\n"
        + "```\n`spa\ncheck` says\n```sh\n# first\nspa init a && spa check a\n```\n```toml\n$ spa no\n```\n"
    )
    found = shell_commands(document)
    assert [(command.line, command.parts) for command in found] == [
        (2, (("spa", "build", "s.toml", "--seed", "3"),)),
        (5, (("spa", "status", "a b"), ("cat",))),
        (11, (("spa", "init", "a"), ("spa", "check", "a"))),
    ]
    assert found[0].text == "spa build s.toml --seed 3"
    assert spoken_of(document) == ["spa check"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_extra_that_is_to_be_installed_exists(document: Path) -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(re.findall(r"(?:spa-eval|\.|\.whl)\[(\w+)\]", document.read_text())) <= set(extras)


def test_the_block_of_the_readme_can_be_pasted() -> None:
    """Into bash or zsh: no prompt, no comment, nothing that runs until it is stopped."""
    (block,) = fenced(ROOT / "README.md", "sh")
    lines = block.splitlines()
    assert [line for line in lines if re.match(r"[$>%] ", line) or "#" in line] == []
    typed = [words[1:] for line in lines for words in programs(line) if is_spa(words)]
    assert [words[0] for words in typed] == ["init", "check", "build", "simulate", "rate", "report"]
    assert [words for words in typed if server_name(words) is not None] == []


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [point.name for point in entry_points(group="spa.commands") if f"spa {point.name}" not in readme] == []


def test_invariants_name_existing_tests() -> None:
    """Every invariant in the architecture names a test that exists."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) >= 8
    for path, function in named:
        assert f"def {function}(" in (ROOT / path).read_text(), f"{path}::{function}"


@pytest.mark.parametrize("name", ["architecture.md", "glossary.md"])
def test_every_module_that_is_named_exists(name: str) -> None:
    named = re.findall(
        r"`((?:spa|analysis|mturk|prolific|streamlit_app)/[\w/]+\.py)`", (ROOT / "docs" / name).read_text()
    )
    assert len(named) >= 8
    assert [path for path in named if not (Path(spa.__file__).parents[1] / path).exists()] == []


def test_every_class_in_the_glossary_is_in_the_module_beside_it() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text()
    named = re.findall(r"`(\w+)`, `((?:spa|analysis|mturk|prolific)/[\w/]+\.py)`", text)
    assert len(named) >= 20
    for word, path in named:
        assert re.search(rf"\b{word}\b", (Path(spa.__file__).parents[1] / path).read_text()), f"{path}: {word}"


def test_every_document_has_a_place_in_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text()
    documents = [path.name for path in sorted((ROOT / "docs").glob("*.md"))]
    assert [name for name in documents if not re.search(rf"(- |: ){re.escape(name)}$", nav, flags=re.M)] == []


def test_the_documents_stay_short() -> None:
    pages = list((ROOT / "docs").glob("*.md"))
    assert len(pages) <= 20
    assert sum(len(page.read_text().split()) for page in (ROOT / "docs").rglob("*.md")) <= 26_036
    assert "At most 20 pages and 26,036 words" in (ROOT / "CONTRIBUTING.md").read_text()
