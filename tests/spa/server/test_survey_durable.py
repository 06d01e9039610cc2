"""What a person sent is on the disk, not only in the machine's memory, before they are told so and before any code."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from spa.commands.workspace import open_workspace
from spa.simulation.survey_client import visit
from tests.conftest import missing_part
from tests.spa.server.served_study import build
from tests.spa.small_study import STUDY, raw_answer

CALLS = "trace=fsync,fdatasync,pwrite64,sendto,sendmsg,write,writev,recvfrom,read"


def test_survey_fsync_before_acknowledgement_and_code(tmp_path: Path) -> None:
    """The disk is synchronised before a page is acknowledged and a code is shown."""
    if shutil.which("strace") is None:
        missing_part("strace is not installed")
    study, trace, links = build(tmp_path, STUDY), tmp_path / "trace", tmp_path / "links.txt"
    spa = str(Path(sys.executable).with_name("spa"))
    traced = ["strace", "-f", "--seccomp-bpf", "-y", "-s", "60", "-e", CALLS, "-o", str(trace)]
    with subprocess.Popen(
        [*traced, spa, "serve", str(study), "--port", "0", "--links", str(links)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as served:  # fmt: skip
        try:
            assert served.stdout is not None
            told = [served.stdout.readline() for _ in range(4)]
            if not told[-1] and "ptrace" in (served.stderr.read() if served.stderr else "").lower():
                pytest.skip("this system lets no process be traced")
            address, _, token = links.read_text().splitlines()[0].partition("/a/")
            with open_workspace(study) as workspace, httpx2.Client(trust_env=False, timeout=60) as browser:
                form = workspace.form("a00001")
                answers = {question.question_id: raw_answer(question) for question in form.questions("people")}
                done = visit(browser, address, token, lambda assignment_id: (form, answers))
        finally:
            for child in Path(f"/proc/{served.pid}/task/{served.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGINT)  # strace ends with the server, and passes no signal on
            served.communicate(timeout=60)
    assert done.completion_code is not None
    events = [kind for line in trace.read_text(errors="replace").splitlines() if (kind := event(line))]
    assert events.count("post") == len(form.pages) + 1  # the first takes the place
    sent = [place for place, kind in enumerate(events) if kind == "post"]
    for start in sent:
        answered = events.index("saved", start)
        between = events[start:answered]
        assert "log" in between
        assert between[::-1].index("sync") < between[::-1].index("log")  # all that was logged is synchronised
    stopped = events.index("stop")  # then the log is moved into the file
    assert "log" not in events[events.index("saved", sent[-1]) : stopped]  # the code was on disk with the last answers


def event(line: str) -> str | None:
    """Return what a traced system call, or a signal, means here."""
    if "--- SIGINT " in line:
        return "stop"
    if re.search(r"\bpwrite64\(\d+<[^>]*study\.sqlite-wal>", line):
        return "log"
    if re.search(r"\bf(data)?sync\(\d+<[^>]*study\.sqlite-wal>", line):
        return "sync"
    if re.search(r"\b(recvfrom|read)\(.*\"POST /a/", line) or re.search(
        r"<\.\.\. (recvfrom|read) resumed>\"POST /a/", line
    ):
        return "post"
    return "saved" if re.search(r"\b(sendto|sendmsg|write|writev)\(.*HTTP/1\.1 303", line) else None
