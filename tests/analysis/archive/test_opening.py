"""Archives from strangers: what would write outside of its folder, fill the disk or was changed is refused."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.archive import extract_crate, opening
from analysis.archive.contents import is_fit
from analysis.archive.crate import METADATA
from spa.errors import AnalysisError

Written = Callable[[zipfile.ZipFile], None]
FILES = {"tables/ratings.csv": b"annotator_id,score\nr1,4\n", "report/report.md": b"# Report\n"}


def listed(files: Mapping[str, bytes]) -> bytes:
    entities = [
        {"@id": name, "@type": "File", "sha256": hashlib.sha256(content).hexdigest()} for name, content in files.items()
    ]
    return json.dumps({"@graph": [{"@id": "./", "@type": "Dataset"}, *entities]}).encode()


def archive(path: Path, more: Written | None = None, metadata: bytes | None = None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr(METADATA, listed(FILES) if metadata is None else metadata)
        for name, content in FILES.items():
            opened.writestr(name, content)
        if more is not None:
            more(opened)
    return path


def named(name: str) -> Written:
    def write(opened: zipfile.ZipFile) -> None:
        entry = zipfile.ZipInfo("x")
        entry.filename = name
        opened.writestr(entry, b"harmless")

    return write


def of_kind(kind: int) -> Written:
    def write(opened: zipfile.ZipFile) -> None:
        entry = zipfile.ZipInfo("link")
        entry.external_attr = (kind | 0o777) << 16
        opened.writestr(entry, b"tables/ratings.csv")

    return write


def blank(opened: zipfile.ZipFile) -> None:
    opened.writestr("blank.bin", bytes(2 << 20))


def in_bzip2(opened: zipfile.ZipFile) -> None:
    opened.writestr("x.txt", b"x", compress_type=zipfile.ZIP_BZIP2)


HOSTILE = {
    "the folder above": (named("../outside.txt"), "names of files within"),
    "the folder above, inside": (named("tables/../../outside.txt"), "names of files within"),
    "the root": (named("/tmp/outside.txt"), "names of files within"),
    "a drive": (named("C:outside.txt"), "names of files within"),
    "a backslash": (named("..\\outside.txt"), "names of files within"),
    "no name": (named("tables//x.txt"), "names of files within"),
    "a device's name": (named("tables/NUL.txt"), "names of files within"),
    "a line feed": (named("a\nb"), "names of files within"),
    "a long name": (named("x" * 300), "names of files within"),
    "a link": (of_kind(stat.S_IFLNK), "plain files"),
    "a pipe": (of_kind(stat.S_IFIFO), "plain files"),
    "two of one name": (named("report/report.md"), "each name once"),
    "two in capitals": (named("Report/REPORT.md"), "each name once"),
    "a file that is a folder": (named("tables"), "files or folders"),
    "a bomb": (blank, "unpack to at most 200 times"),
    "another method": (in_bzip2, "stored or deflated"),
    "one that nobody names": (named("more.txt"), "files that its metadata name"),
}


def refused(path: Path, folder: Path) -> str:
    """Return the one line with which an archive is refused, of which nothing lies outside of the folder."""
    before = {*path.parent.iterdir()}
    with pytest.raises(AnalysisError) as caught:
        extract_crate(path, folder)
    (line,) = caught.value.problems
    assert len(line) < 500
    assert "\n" not in line
    assert {*path.parent.iterdir()} - {folder} == before
    return line


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_entry_is_refused(tmp_path: Path, case: str) -> None:
    """Before anything is written."""
    more, expected = HOSTILE[case]
    folder = tmp_path / "out"
    assert expected in refused(archive(tmp_path / "a.zip", more), folder)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (b"{", "as spa bundle writes it"),
        (b'{"@graph": 3}', "as spa bundle writes it"),
        (b"[" * 100_000, "as spa bundle writes it"),
        (listed({**FILES, "absent.csv": b""}), "'absent.csv', which its metadata name, got none"),
        (listed({**FILES, "report/report.md": b"# Other\n"}), "'report/report.md' with the SHA-256"),
    ],
)
def test_metadata_that_do_not_fit_are_refused(tmp_path: Path, metadata: bytes, expected: str) -> None:
    assert expected in refused(archive(tmp_path / "a.zip", metadata=metadata), tmp_path / "out")


def test_archive_without_metadata_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as opened:
        opened.writestr("report/report.md", b"x")
    assert f"with {METADATA}, got none" in refused(tmp_path / "a.zip", tmp_path / "out")


@pytest.mark.parametrize(("limit", "value"), [("MOST_FILES", 2), ("MOST_BYTES", 100)])
def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    monkeypatch.setattr(opening, limit, value)
    assert f"at most {value}" in refused(archive(tmp_path / "a.zip"), tmp_path / "out")


@pytest.mark.parametrize("damage", ["no zip", "cut", "size"])
def test_broken_archive_is_refused(tmp_path: Path, damage: str) -> None:
    content = archive(tmp_path / "whole.zip").read_bytes()
    size = len(FILES["report/report.md"]).to_bytes(4, "little")
    changed = {
        "no zip": b"PK and more",
        "cut": content[: len(content) // 2],
        "size": content.replace(size, (3).to_bytes(4, "little")),
    }
    (tmp_path / "a.zip").write_bytes(changed[damage])
    assert "expected a zip archive, got a broken one" in refused(tmp_path / "a.zip", tmp_path / "out")


def test_archive_that_fits_is_extracted(tmp_path: Path) -> None:
    assert extract_crate(archive(tmp_path / "a.zip"), tmp_path / "out") == sorted(FILES)
    assert {name: (tmp_path / "out" / name).read_bytes() for name in FILES} == FILES


@given(st.text(st.sampled_from("ab./\\:\0 ~é"), min_size=1, max_size=12))
def test_fit_name_leads_into_the_folder(name: str) -> None:
    """Whatever a fit name is made of, the file lies below the folder, under that name."""
    folder = Path("/folder")
    if is_fit(name):
        assert Path(folder, name).resolve().relative_to(folder).as_posix() == name
