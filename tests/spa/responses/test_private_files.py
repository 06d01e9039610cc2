"""Files with tokens and secrets are their owner's alone from their first byte, whatever the umask."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from prolific.emulator.platform import EmulatedPlatform
from spa.cli import main
from spa.exporters import export_keys
from spa.responses.store import Store
from tests.conftest import missing_part, need
from tests.spa.small_study import STUDY, write_study

SPA = "from spa.cli import run; run()"
CREATED = re.compile(r'open(?:at)?\([^"]*"([^"]+)", [A-Z_|]*O_CREAT[A-Z_|]*, 0([0-7]+)')
COMMANDS: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "build": (("build", "study.toml", "--links", "links.txt"), {"study.sqlite", "links.txt"}),
    "serve": (
        ("serve", "study.toml", "--port", "0", "--links", "served.txt"),
        {"study.sqlite-wal", "study.sqlite-shm", "served.txt", "family.sqlite"},
    ),
    "endpoint": (("mturk", "serve", "hits.sqlite", "--emulate", "--port", "0"), {"hits.sqlite", "hits.sqlite-wal"}),
    "invite": (
        (
            "mturk",
            "invite",
            "--store",
            "hits.sqlite",
            "--public-url",
            "http://localhost:1",
            "--name",
            "Ana",
            "--out",
            "invited.txt",
        ),
        {"invited.txt"},
    ),
}


def test_no_file_is_ever_open_to_others(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        missing_part("strace is not installed")
    need("boto3", "defusedxml")
    family = 'annotators = 6, family = "all", family_store = "family.sqlite"'
    write_study(tmp_path, STUDY.replace("annotators = 6", family))
    given = {path.name for path in tmp_path.iterdir()}
    for name, (command, expected) in COMMANDS.items():
        trace = tmp_path.parent / f"{tmp_path.name}-{name}"
        run_traced(tmp_path, command, trace)
        created: dict[str, str] = {}  # with the mode of the first call; later ones find the file
        for path, mode in CREATED.findall(trace.read_text(errors="replace")):
            if (tmp_path / path).is_relative_to(tmp_path):
                created.setdefault(Path(path).name, mode)
        assert created, "nothing was traced"
        assert not [path for path, mode in created.items() if int(mode, 8) & 0o077 and path not in given], name
        assert expected <= {path.name for path in tmp_path.iterdir()} | set(created), name
    for path in tmp_path.iterdir():
        assert path.name in given or stat.S_IMODE(path.stat().st_mode) == 0o600, path


def run_traced(folder: Path, command: tuple[str, ...], trace: Path) -> None:
    """Run a command with the widest umask; a server is interrupted when it says that it serves."""
    traced = [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-qq",
        "-e",
        "trace=open,openat,creat",
        "-o",
        str(trace),
        sys.executable,
        "-c",
        SPA,
    ]
    with subprocess.Popen([*traced, *command], cwd=folder, umask=0, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        served = False
        try:
            for line in process.stdout:
                if "Ctrl-C" in line:
                    served = True
                    subprocess.run(["pkill", "-INT", "-P", str(process.pid)], check=True)  # not strace
        except BaseException:
            subprocess.run(["pkill", "-KILL", "-P", str(process.pid)], check=False)
            raise
    assert served or process.returncode == 0, command


@pytest.mark.parametrize("make", [lambda path: Store.create(path).close(), lambda path: EmulatedPlatform(path).close()])
def test_a_store_is_its_owners_alone(tmp_path: Path, make: object) -> None:
    before = os.umask(0)
    try:
        make(tmp_path / "store.sqlite")  # type: ignore[operator]
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize("format_", ["csv", "parquet", "jsonl", *export_keys()])
def test_exports_are_their_owners_alone(tmp_path: Path, format_: str) -> None:
    study, out = write_study(tmp_path), tmp_path / "tables"
    runner = CliRunner()
    before = os.umask(0)
    try:
        for command in (("build",), ("export", "--out", str(out), "--format", format_, "--raw")):
            assert runner.invoke(main, [command[0], str(study), *command[1:]]).exit_code == 0
    finally:
        os.umask(before)
    tables = [path for path in out.rglob("*") if path.is_file() and path.name != "README.md"]
    assert tables
    assert {stat.S_IMODE(path.stat().st_mode) for path in tables} == {0o600}
