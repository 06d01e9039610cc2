"""What a release changes: the version where it stands, the changelog's entries; ``tests.release`` does all of it."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.release import PLACES, cut_changelog, prepare, with_version

ROOT = Path(__file__).resolve().parents[1]


def test_release_puts_the_version_everywhere(tmp_path: Path) -> None:
    for name in (*PLACES, "CHANGELOG.md"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    prepare(tmp_path, "7.8.9rc1", "2026-12-01")
    assert tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]["version"] == "7.8.9rc1"
    assert json.loads((tmp_path / "codemeta.json").read_text())["version"] == "7.8.9rc1"
    assert "\nversion: 7.8.9rc1\n" in (tmp_path / "CITATION.cff").read_text()
    before, after = ((folder / "CHANGELOG.md").read_text() for folder in (ROOT, tmp_path))
    assert after.replace("\n## [7.8.9rc1] - 2026-12-01\n", "", 1) == before


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.3", "1.2.3; rm", "1.2.3.dev"])
def test_release_of_no_version_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="expected a version"):
        with_version("pyproject.toml", 'version = "0.1.0"\n', version)


def test_release_without_one_place_is_refused() -> None:
    with pytest.raises(ValueError, match="expected the version once, got it 2 times"):
        with_version("pyproject.toml", 'version = "0.1.0"\n' * 2, "1.2.3")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Changelog\n\n## [Unreleased]\n\n## [1.0.0] - 2026-01-01\n\n- Old.\n", "expected entries"),
        ("# Changelog\n\n- Old.\n", "expected entries"),
        ("# Changelog\n\n## [Unreleased]\n\n- New.\n\n## [1.2.3] - 2026-01-01\n\n- Old.\n", "which is there"),
    ],
)
def test_changelog_that_cannot_be_cut_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        cut_changelog(text, "1.2.3", "2026-12-01")
