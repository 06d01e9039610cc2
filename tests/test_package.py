"""What is built is what is tracked, what it needs is what it imports, and an index shows all of its README."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import spa
from tests.conftest import need

ROOT = Path(__file__).resolve().parents[1]
INSTALLED = Path(spa.__file__).parents[1]
PACKAGES = ("spa", "mturk", "prolific", "analysis", "streamlit_app")
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT: dict[str, Any] = SETTINGS["project"]
MODULES = {  # distribution -> module, where the names differ
    "backports.zstd": "backports",
    "dask-jobqueue": "dask_jobqueue",
    "google-genai": "google",
    "lazy-loader": "lazy_loader",
    "markdown-it-py": "markdown_it",
    "openapi-schema-validator": "openapi_schema_validator",
    "pillow": "PIL",
    "pyyaml": "yaml",
    "rouge-score": "rouge_score",
    "scikit-learn": "sklearn",
    "umap-learn": "umap",
}
PLUGINS = {  # (extra, distribution) -> who imports it for us
    ("local", "accelerate"): "transformers, for quantised weights",
    ("", "httptools"): "uvicorn.protocols.http.httptools_impl, which the server extends",
    ("local", "protobuf"): "transformers, for tokenizers of SentencePiece",
    ("postgres", "psycopg"): "SQLAlchemy, for postgresql://",
    ("mturk", "python-multipart"): "starlette.formparsers, for files that workers send",
    ("s3", "s3fs"): "fsspec, for s3://",
    ("local", "sentencepiece"): "transformers, for tokenizers of SentencePiece",
    ("", "uvloop"): "uvicorn, where it is installed",
}
BROUGHT = {  # module -> the dependency that brings it
    "IPython": "",  # a notebook's own
    "annotated_types": "pydantic",
    "botocore": "boto3",
    "fsspec": "dask",
    "markupsafe": "jinja2",
    "playwright": "",  # of the group "test": `spa rehearse` says how to install it
    "pydantic_core": "pydantic",
    "referencing": "openapi-schema-validator",
    "safetensors": "transformers",
    "starlette": "fastapi",
}
ROOMS = {  # extra -> where its libraries are imported; without one: where none is installed
    "": ("spa/", "analysis/", "prolific/"),
    "local": ("spa/raters/local/", "spa/media/", "analysis/metrics/"),
    "anthropic": ("spa/raters/vendors/anthropic/",),
    "gemini": ("spa/raters/vendors/gemini/",),
    "dashboard": ("streamlit_app/",),
    "importers": ("spa/importers/",),
    "mturk": ("mturk/", "spa/importers/mturk/"),
    "postgres": ("spa/",),
    "metrics": ("analysis/metrics/",),
    "errant": ("analysis/metrics/",),
    "openapi": ("prolific/emulator/",),
    "explanations": ("analysis/explanations/",),
    "media": ("spa/clips/",),
    "keywords": ("analysis/explanations/",),
    "xlsx": ("spa/tables/",),
    "archive": ("analysis/archive/",),
    "cluster": ("spa/cluster.py", "spa/raters/cluster/", "analysis/parts/"),
    "slurm": ("spa/cluster.py",),
    "s3": ("spa/tables/",),
}
NAMED = {"import_module", "find_spec", "_module", "require"}  # calls in which a module is a word
SOURCE = PROJECT["urls"]["Source"]


class Built(NamedTuple):
    """The wheel, and names of the files in the two archives, without those that only describe the archive."""

    archive: Path
    wheel: set[str]
    sdist: set[str]


@pytest.fixture(scope="module")
def tracked() -> set[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: nothing says which files belong to the project")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


@pytest.fixture(scope="module")
def built(tracked: set[str], tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build the sdist and, from it, the wheel."""
    need("build", "uv")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--installer", "uv", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        files = {member.name.partition("/")[2] for member in archive if member.isfile()} - {"PKG-INFO"}
    return Built(wheel, {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}, files)


def test_wheel_holds_tracked_files_alone(built: Built, tracked: set[str]) -> None:
    """The wheel holds every tracked file of the packages and no other."""
    script = {"spa/launcher.py": "spa_eval_script.py"}
    assert built.wheel == {script.get(name, name) for name in tracked if name.split("/")[0] in PACKAGES}


def test_the_sdist_holds_every_tracked_file_and_no_other(built: Built, tracked: set[str]) -> None:
    assert built.sdist == tracked


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_are_told_that_a_package_is_typed(built: Built, package: str) -> None:
    assert f"{package}/py.typed" in built.wheel


TYPED = """
from analysis import holm, rankings, rating_tests
from spa import load_study
reveal_type(holm([0.01]).p_adjusted)
reveal_type(load_study)
[test] = rating_tests({"score": [1]}, mapping={"rater": "annotator_id"}, llms=["gpt"], scale=(1, 5))
reveal_type(test.p_value)
reveal_type(rankings({"score": [1]})[0].order)
"""
REVEALED = (
    "numpy.ndarray",
    "def (path: pathlib.Path) -> spa.records.study.Study",
    "float | None",
    "tuple[tuple[str, ...], ...]",
)
WRONG = (
    ("holm(0.01)", "arg-type"),
    ("holm([0.01], rate=0.05)", "call-arg"),
    ("rating_tests({}, scales=(1, 5))", "call-arg"),
    ("rating_tests({}, mapping=['rater'])", "arg-type"),
    ("rating_tests({}).p_value", "attr-defined"),
)


def test_a_type_checker_sees_the_types_of_the_installed_wheel(built: Built, tmp_path: Path) -> None:
    need("mypy")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    beside = "import sysconfig; print(sysconfig.get_path('purelib'))"
    installed = subprocess.run([python, "-c", beside], capture_output=True, text=True, check=True).stdout.strip()
    zipfile.ZipFile(built.archive).extractall(installed)
    Path(installed, "libraries.pth").write_text(sysconfig.get_path("purelib"))
    script = tmp_path / "script.py"
    script.write_text(TYPED + "".join(f"{call}\n" for call, _ in WRONG))
    if (ROOT / ".mypy_cache").is_dir():  # libraries that were read when the checkout was checked
        shutil.copytree(ROOT / ".mypy_cache", tmp_path / ".mypy_cache")
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--python-executable", str(python)]
    command = [sys.executable, "-m", "mypy", *settings, script.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    revealed = [line.split('"')[1] for line in done.stdout.splitlines() if "note: Revealed type is" in line]
    assert [kind.partition("[")[0] if "numpy" in kind else kind for kind in revealed] == list(REVEALED), done.stdout
    errors = [line.rpartition("[")[2].rstrip("]") for line in done.stdout.splitlines() if ": error: " in line]
    assert errors == [code for _, code in WRONG], done.stdout


def requirements(extra: str) -> list[str]:
    """Return the names of what the project, or one of its extras, asks for."""
    asked = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    names = [found[0] for line in asked if (found := re.match(r"[\w.-]+", line))]
    return [name for name in names if name != PROJECT["name"]]


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, or names where it asks whether they are installed."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in NAMED:
            words = (word.value for word in node.args if isinstance(word, ast.Constant) and isinstance(word.value, str))
            yield from (word for word in words if word.replace(".", "_").isidentifier())


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Each file of the packages -> the top modules that it imports."""
    files = [path for package in PACKAGES for path in (INSTALLED / package).rglob("*.py")]
    return {
        path.relative_to(INSTALLED).as_posix(): {name.partition(".")[0] for name in imported(path)} for path in files
    }


@pytest.mark.parametrize("extra", ["", *sorted(set(PROJECT["optional-dependencies"]) - {"all"})])
def test_every_dependency_is_imported_where_it_is_installed(imports: dict[str, set[str]], extra: str) -> None:
    used = {name for path, names in imports.items() if path.startswith(ROOMS[extra]) for name in names}
    assert [
        name for name in requirements(extra) if (extra, name) not in PLUGINS and MODULES.get(name, name) not in used
    ] == []


def test_every_import_is_of_a_dependency(imports: dict[str, set[str]]) -> None:
    asked = {(extra, name) for extra in ROOMS for name in requirements(extra)}
    assert PLUGINS.keys() <= asked
    asked_for = {name for _, name in asked}
    assert set(BROUGHT.values()) - {""} <= asked_for
    scripts = {place.partition(":")[0] for place in PROJECT["scripts"].values()}
    known = {*sys.stdlib_module_names, *PACKAGES, *scripts, *BROUGHT, *ROOMS}
    known |= {MODULES.get(name, name) for name in asked_for}
    assert {path: names - known for path, names in imports.items() if names - known} == {}


def test_what_cites_the_project_says_what_the_project_says() -> None:
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    codemeta = json.loads((ROOT / "codemeta.json").read_text())
    (author,) = PROJECT["authors"]
    assert (
        [codemeta["author"], codemeta["license"], codemeta["runtimePlatform"]]
        == [[{"@type": "Organization", "name": author["name"]}], f"https://spdx.org/licenses/{PROJECT['license']}",
            f"Python {PROJECT['requires-python']}"]
    )  # fmt: skip
    assert (citation["authors"], citation["license"]) == ([author], PROJECT["license"])
    for found, title, text, repository in (
        (citation, "title", "abstract", "repository-code"),
        (codemeta, "name", "description", "codeRepository"),
    ):
        assert {title: found[title], text: found[text], repository: found[repository]} == {
            title: PROJECT["name"], text: PROJECT["description"], repository: SOURCE
        }  # fmt: skip
        assert (found["version"], found["keywords"]) == (PROJECT["version"], PROJECT["keywords"])


class Shown(HTMLParser):
    """The links, pictures and headings of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.pictures: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where an element leads."""
        found = dict(attrs)
        self.tags.append(tag)
        self.links += [link] if (link := found.get("href")) and not link.startswith("#") else []  # headings' own
        self.pictures += [found["src"]] if tag == "img" and found.get("src") else []


def test_an_index_shows_all_of_the_readme() -> None:
    need("readme_renderer", "comrak")
    from readme_renderer.markdown import render

    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 700
    page = render(text)
    assert page is not None
    shown = Shown()
    shown.feed(page)
    assert len(shown.pictures) == text.count("![") == 2
    assert len(shown.links) == len(re.findall(r"(?<!!)\[[^]]*\]\(", text))
    assert all(link.startswith("https://") for link in shown.links + shown.pictures)
    assert {"table", "pre", "blockquote", "ul", "h1", "h2"} <= set(shown.tags)
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S)
    assert re.findall(r"<[a-zA-Z/!]", prose) == [], "HTML, which an index may strip"


def test_an_index_takes_what_is_built(built: Built) -> None:
    need("twine")
    from twine.commands.check import check

    assert not check([str(path) for path in built.archive.parent.iterdir()], strict=True)
