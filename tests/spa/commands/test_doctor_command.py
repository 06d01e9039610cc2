"""``spa doctor``: each check on a sound machine, and on one where something is wrong."""

from __future__ import annotations

import json
import os
import socket
import time
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.commands.doctor import doctor
from spa.commands.workspace import open_workspace
from spa.responses.store import Store
from spa.server import diagnosis
from spa.server.app import create_app
from spa.server.diagnosis import CheckFinding, HealthReply, Outside, Served, examine
from spa.server.http_server import serve_on_loopback
from spa.study.load import load_study, study_fingerprint
from tests.spa.small_study import write_study

NOW = 1_800_000_000.0
DAY = 86_400.0
CHECKS = ("store", "rights", "disk", "clock", "port", "address", "TLS", "reach")
URL = "https://study.example.org"
Disk = namedtuple("Disk", "free")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = write_study(tmp_path)
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    return path


@pytest.fixture(autouse=True)
def much_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis.shutil, "disk_usage", lambda _: Disk(free=10**12))


def raising(error: Exception) -> Callable[..., object]:
    def fail(*_: object) -> object:
        raise error

    return fail


def found(study: Path, public_url: str | None = URL, **other: object) -> dict[str, CheckFinding]:
    sound = Outside(
        resolve=lambda _: ["8.8.8.8"],
        certificate_ends=lambda *_: NOW + 60 * DAY,
        health=lambda *_: SAME,
        is_free=lambda *_: False,
    )
    known = {study_fingerprint(load_study(study)), "same"}
    served = Served(fingerprints=known, host="127.0.0.1", port=8000, public_url=public_url)
    outside = replace(sound, **other)  # type: ignore[arg-type]
    findings = list(examine(study.with_suffix(".sqlite"), served, clock=lambda: NOW, outside=outside))
    assert all(len(each.text) < 400 and "\n" not in each.text for each in findings)
    return {each.check: each for each in findings}


def test_on_a_sound_machine_all_is_well(study: Path) -> None:
    findings = found(study)
    assert tuple(findings) == CHECKS
    assert {each.state for each in findings.values()} == {"ok"}, findings
    assert findings["store"].text.endswith("study.sqlite: whole, this study's, visits: 0")
    assert findings["TLS"].text == "the certificate is valid for 60 days"


FACTS = {"study": "small", "fingerprint": "same"}
SAME = HealthReply(status=200, facts=FACTS, date=NOW)
LATE = HealthReply(status=200, facts=FACTS, date=NOW - 3600)
TRIED = HealthReply(status=200, facts={**FACTS, "rehearsal": True}, date=NOW)
FULL = HealthReply(status=503, facts={}, date=None)
OTHER = HealthReply(status=200, facts={"study": "other", "fingerprint": "x"}, date=NOW)
PROXY = HealthReply(status=502, facts={}, date=NOW)


@pytest.mark.parametrize(
    ("wrong", "check", "state", "said"),
    [
        ({"resolve": raising(OSError(-2, "Name or service not known"))}, "address", "problem", "has no address (Name"),
        ({"resolve": lambda _: ["192.168.1.7"]}, "address", "warning", "within your own network"),
        ({"certificate_ends": lambda *_: NOW + 3 * DAY}, "TLS", "warning", "ends in 3 days"),
        ({"certificate_ends": raising(OSError(1, "self-signed"))}, "TLS", "problem", "no valid certificate (self-sig"),
        ({"public_url": "http://study.example.org"}, "TLS", "warning", "http: answers can be read on the way"),
        ({"public_url": None}, "address", "warning", "no --public-url"),
        ({"is_free": lambda *_: True}, "reach", "warning", "not tried, as the study is not served at 127.0.0.1:8000"),
        ({"is_free": lambda *_: True}, "port", "ok", "127.0.0.1:8000: free"),
        ({"is_free": raising(OSError(99, "no such address"))}, "port", "problem", "another program has it, or this"),
        ({"health": lambda *_: FULL}, "port", "problem", "answers 503"),
        ({"health": lambda *_: FULL}, "reach", "problem", "answers 503"),
        ({"health": lambda *_: OTHER}, "port", "problem", "serves another study (other)"),
        ({"health": lambda base, _: OTHER if base == URL else SAME}, "reach", "problem", "serves another study"),
        ({"health": lambda base, _: PROXY if base == URL else SAME}, "reach", "problem", "answered 502, not by"),
        ({"health": lambda base, _: LATE if base == URL else SAME}, "reach", "warning", "set the one that is wrong"),
        ({"health": lambda base, _: TRIED if base == URL else SAME}, "reach", "warning", "this study's rehearsal"),
        (
            {"health": lambda base, _: raising(OSError("timed out"))() if base == URL else SAME},
            "reach",
            "problem",
            "no",
        ),
    ],
)
def test_what_is_wrong_outside_is_told(
    study: Path, wrong: dict[str, object], check: str, state: str, said: str
) -> None:
    finding = found(study, **wrong)[check]  # type: ignore[arg-type]
    assert (finding.state, said in finding.text) == (state, True), finding


def test_what_is_wrong_here_is_told(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = study.with_suffix(".sqlite")
    store.chmod(0o644)
    assert (found(study)["rights"].state, "chmod 600" in found(study)["rights"].text) == ("warning", True)
    monkeypatch.setattr(diagnosis.shutil, "disk_usage", lambda _: Disk(free=50_000_000))
    assert (found(study)["disk"].state, "free some space" in found(study)["disk"].text) == ("problem", True)
    monkeypatch.setattr(diagnosis.shutil, "disk_usage", lambda _: Disk(free=150_000_000))
    monkeypatch.setattr(os, "access", lambda place, _: Path(place) != store.parent)
    assert "may not write there" in found(study)["rights"].text
    with Store.open(store) as opened:
        opened.visits.admit(source="panel", person="ada", now=NOW + 3600)
    assert (found(study)["clock"].state, "set this machine's clock" in found(study)["clock"].text) == ("problem", True)
    study.write_text(study.read_text().replace("seed = 3", "seed = 4"))
    assert "another study's, or the study has changed" in found(study)["store"].text
    store.unlink()
    assert list(found(study)) == ["store", "port", "address", "TLS", "reach"]
    assert "no such store; run `spa build` first" in found(study)["store"].text


def test_doctor_asks_running_server(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command asks a server that runs and fails where something is a problem."""
    with open_workspace(study) as workspace, serve_on_loopback(create_app(workspace)) as url:
        port = url.rpartition(":")[2]
        result = CliRunner().invoke(doctor, [str(study), "--port", port, "--public-url", url, "--json"])
        findings = {each["check"]: each for each in json.loads(result.output)}
    assert result.exit_code == 0, result.output
    assert findings["port"]["text"] == f"127.0.0.1:{port}: serves this study"
    assert findings["reach"]["state"] == "ok"
    assert findings["address"]["text"].startswith("127.0.0.1 is 127.0.0.1: within your own network")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        taken.settimeout(0.0)
        began = time.monotonic()
        monkeypatch.setattr(diagnosis, "WAIT", 0.2)
        result = CliRunner().invoke(doctor, [str(study), "--port", str(taken.getsockname()[1])])
    assert time.monotonic() - began < 5
    assert result.exit_code == 1
    assert any(line.startswith("problem  port: 127.0.0.1:") for line in result.output.splitlines())
