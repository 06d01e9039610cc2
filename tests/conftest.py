"""What all tests share: the real annotation data, and what a missing part means; it needs the plain install only."""

from __future__ import annotations

import gc
import os
import re
import shutil
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import tests.warm  # noqa: F401  # shares certificates, and lets clients wait

gc.disable()  # while hundreds of modules are imported
settings.register_profile("unhurried", deadline=None, max_examples=50)  # a busy machine is no defect
settings.load_profile("unhurried")

os.environ.setdefault("SPA_VERIFY", "off")  # a process of 1.3 s beside each report; tests of it turn it on

EXTRAS = {  # module -> the extra, or the dependency group, that brings it
    **dict.fromkeys(("torch", "transformers", "tokenizers", "accelerate", "gguf", "PIL"), "extra local"),
    "anthropic": "extra anthropic",
    "google": "extra gemini",
    **dict.fromkeys(("streamlit", "websockets"), "extra dashboard"),
    **dict.fromkeys(("boto3", "botocore", "defusedxml"), "extra mturk"),
    **dict.fromkeys(("yaml", "openapi_schema_validator"), "extra openapi"),
    **dict.fromkeys(
        ("playwright", "axe_playwright_python", "pypdf", "schemathesis", "build", "uv", "dask_jobqueue"), "group test"
    ),
    **dict.fromkeys(("jsonschema", "readme_renderer", "comrak", "twine"), "group test"),
    **dict.fromkeys(("mypy", "ruff", "importlinter"), "group check"),
    **dict.fromkeys(("sklearn", "umap"), "extra explanations"),
    "rocrate": "extra archive",
    "yake": "extra keywords",
    **dict.fromkeys(("rouge_score", "sacrebleu"), "extra metrics"),
    **dict.fromkeys(("errant", "spacy"), "extra errant"),
    "psycopg": "extra postgres",
    **dict.fromkeys(("cryptography", "dask", "distributed"), "extra cluster"),
}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out helpers without examples: each worker would import them all, benchmarks too."""
    helper = collection_path.suffix == ".py" and not collection_path.name.startswith(("test_", "conftest", "__init__"))
    return True if helper and ">>>" not in collection_path.read_text() else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests that share a fixture of their module run in one process, which makes it once; slow ones come first."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("one_process") is None:
            fixtures = (found[-1] for found in item._fixtureinfo.name2fixturedefs.values())
            if any(fixture.scope == "module" for fixture in fixtures):
                item.add_marker(pytest.mark.one_process(item.module.__name__))


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what was imported, which stays: no test then pays for looking at it."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # a test makes little that it does not end itself
    gc.enable()


def absent(error: BaseException | None) -> str | None:
    """Return what is not installed, where an error says that an optional module is not."""
    while error is not None:
        name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if name in EXTRAS:
            return f"{name} is not installed ({EXTRAS[name]})"
        error = error.__cause__ or error.__context__
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, pytest.CollectReport]:
    """Skip a file that imports an optional module which is not installed."""
    report = yield
    skip_if_absent(report, report.call.excinfo, collector.path)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, pytest.TestReport]:
    """Skip a test that imports an optional module which is not installed."""
    report = yield
    skip_if_absent(report, call.excinfo, item.path)
    return report


def skip_if_absent(report: Any, found: pytest.ExceptionInfo[BaseException] | None, path: Path) -> None:
    """Turn a failure for want of an optional module into a skip, except on CI."""
    reason = absent(found.value) if report.failed and found is not None else None
    if reason is not None and os.environ.get("CI") != "true":
        report.outcome = "skipped"
        report.longrepr = (str(path), 0, f"Skipped: {reason}")


def missing_part(reason: str) -> None:
    """Skip on a user's machine; fail where everything must be there (``CI=true``)."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; on CI every part must be there")
    pytest.skip(reason)


def need_program(*names: str) -> None:
    """Skip (fail on CI) where one of these programs is not on the PATH."""
    for name in names:
        if shutil.which(name) is None:
            missing_part(f"{name} is not installed (Debian: apt-get install {name})")


def need(*modules: str) -> None:
    """Skip (fail on CI) where one of these optional modules is not installed."""
    for name in modules:
        if find_spec(name) is None:
            missing_part(f"{name} is not installed ({EXTRAS[name]})")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with the real annotation data of three published studies; not part of the repository."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real annotation data at {folder}")
    return folder


@pytest.fixture(scope="session")
def made_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what the command of ``make demo`` writes: once for all who read it, who stand in the group "demo"."""
    from tests.guides.reader import reader_in

    folder = tmp_path_factory.mktemp("demo")
    makefile = (Path(__file__).resolve().parents[1] / "Makefile").read_text()
    (typed,) = re.findall(r"^\t\$\(BIN\)/(spa demo .*)$", makefile, flags=re.M)
    with reader_in(folder) as reader:
        reader.type(typed)
    return folder / "demo-out"
