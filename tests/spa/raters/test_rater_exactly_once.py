"""A rating process is killed at random moments: no question is asked twice as the same attempt, none is lost."""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from spa.commands.workspace import open_workspace
from spa.errors import ResponseError
from spa.journal import STARTED, Journal
from spa.raters.visits import KIND
from spa.records.submission import Response
from spa.responses.run_lock import exclusive_run
from spa.responses.store import Store
from tests.conftest import missing_part
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import Asked, Said, Served, http, middle, scripted
from tests.warm import WarmProcess

CONCURRENCY = 4


def hashed(messages: Any) -> str:
    """Return a hash of what was put."""
    return sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()


def slow(seconds: float) -> Callable[[Asked], Any]:
    async def answer(asked: Asked) -> Said:
        await asyncio.sleep(seconds)
        return http(middle(asked))

    return answer


def start(study: Path, rater: Path, *before: str) -> subprocess.Popen[str]:
    """Start ``spa rate`` as a process of its own."""
    script = [sys.executable, "-c", "from spa.cli import run; run()"]
    command = [*before, *script, "rate", str(study), "--rater", str(rater), "--no-probe"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def judge(folder: Path, url: str, concurrency: int = CONCURRENCY) -> Path:
    path = folder / "judge.toml"
    path.write_text(f'id = "judge"\nmodel = "m"\nbase_url = "{url}"\nconcurrency = {concurrency}\n')
    return path


def kill_and_finish(study: Path, rater: Path, served: Served, assignments: int, rng: random.Random) -> None:
    """Kill the process three times, each after a random number of further requests, then let it finish."""
    rating = ["rate", study, "--rater", rater, "--no-probe"]
    for _ in range(3):
        process = WarmProcess(rating)
        wanted = len(served.asked) + rng.randint(1, assignments // 4)
        while len(served.asked) < wanted and process.poll() is None:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = WarmProcess(rating)
    told, _ = process.communicate()
    assert process.returncode == 0, told


def check_exactly_once(study: Path, served: Served, assignments: int) -> tuple[int, int]:
    """Compare the server's own count with the journal; return requests and attempts that were cut off."""
    arrived = Counter(hashed(asked.body["messages"]) for asked in served.asked)
    begun: Counter[str] = Counter()
    outcomes: dict[str, list[str]] = {}
    with open_workspace(study, read_only=True) as workspace:
        for call in Journal(workspace.store).every(KIND):
            begun[hashed(json.loads(call.request)["messages"])] += 1
            outcomes.setdefault(call.scope, []).append(call.outcome)
        visits = [visit.assignment_id for visit in workspace.store.submissions()]
    assert len(visits) == len(set(visits)) == assignments
    assert all(one[-1] == "ok" and set(one[:-1]) <= {STARTED} for one in outcomes.values())
    cut_off = sum(one.count(STARTED) for one in outcomes.values())
    assert cut_off <= 3 * CONCURRENCY
    assert set(arrived) <= set(begun)  # nothing was sent that is not on record
    assert all(arrived[name] <= begun[name] for name in arrived)
    assert assignments <= len(served.asked) <= assignments + cut_off
    return len(served.asked), cut_off


def test_a_killed_rater_asks_each_question_once_an_attempt(tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=12)
    with scripted(slow(0.05)) as served:
        kill_and_finish(study, judge(tmp_path, served.url), served, 12, random.Random(3))
        check_exactly_once(study, served, 12)


def test_rater_fsync_before_request_and_answer(tmp_path: Path) -> None:
    """The disk is synchronised before a request and before its answer counts."""
    if shutil.which("strace") is None:
        missing_part("strace is not installed")
    study = built_example(tmp_path, annotators=1)
    trace = tmp_path / "trace"
    calls = "trace=fsync,fdatasync,pwrite64,sendto,sendmsg,writev,write,recvfrom"
    with scripted(slow(0.1)) as served:
        process = start(
            study,
            judge(tmp_path, served.url),
            "strace",
            "-f",
            "--seccomp-bpf",
            "-y",
            "-s",
            "60",
            "-e",
            calls,
            "-o",
            str(trace),
        )
        told, _ = process.communicate(timeout=120)
    if process.returncode != 0 and "ptrace" in told.lower():
        pytest.skip("this system lets no process be traced")
    assert process.returncode == 0, told
    events = [kind for line in trace.read_text(errors="replace").splitlines() if (kind := event(line))]
    asked, answered, said = events.index("ask"), events.index("answer"), events.index("say")
    before = events[:asked]
    assert before[::-1].index("sync") < before[::-1].index("log")  # all that was logged is synchronised
    after = events[answered:said]
    assert "log" in after
    assert after[::-1].index("sync") < after[::-1].index("log")


def event(line: str) -> str | None:
    """Return what a traced system call means here."""
    if re.search(r"\bpwrite64\(\d+<[^>]*-wal>", line):
        return "log"
    if re.search(r"\bf(data)?sync\(\d+<[^>]*-wal>", line):
        return "sync"
    if "POST /v1/chat/completions" in line:
        return "ask"
    if "recvfrom(" in line and "HTTP/1.1 200" in line:
        return "answer"
    return "say" if re.search(r"\bwrite\(1<", line) and "assignments finished" in line else None


def test_postgresql_lets_one_run_of_a_rater_go_on(postgres_url: str) -> None:
    with ExitStack() as stack:
        store = stack.enter_context(Store.create(postgres_url))
        with exclusive_run(store.name, "judge", store.reading):
            with pytest.raises(ResponseError, match="two runs would pay twice"):
                stack.enter_context(exclusive_run(store.name, "judge", store.reading))
            with exclusive_run(store.name, "another", store.reading):
                pass
        with exclusive_run(store.name, "judge", store.reading):
            pass


def test_rater_resumes_in_postgresql(postgres_url: str, tmp_path: Path) -> None:
    """A rater answers in PostgreSQL and goes on where it stopped."""
    study = built_example(tmp_path, annotators=3)
    spa("build", study, "--store", postgres_url)
    rate = ("rate", study, "--store", postgres_url, "--simulate", "--json")
    first = json.loads(spa(*rate, "--limit", 1).output)
    rest, again = (json.loads(spa(*rate).output) for _ in range(2))
    seen = [(told["finished"], told["finished_before"], told["requests"]) for told in (first, rest, again)]
    assert seen[1:] == [(rest["visits"] - 1, 1, rest["visits"] - 1), (0, rest["visits"], 0)]
    with open_workspace(study, postgres_url, read_only=True, rehearsal=True) as workspace:
        submissions = list(workspace.store.submissions())
        asked = {name: list(workspace.form(name).questions("everybody")) for name in workspace.store.assignments.ids()}
    assert [one.assignment_id for one in submissions] == list(asked)
    for one in submissions:
        questions = asked[one.assignment_id]
        assert [(answer.question_id, answer.target) for answer in one.answers] == [
            (question.question_id, question.target) for question in questions
        ]
        assert all(isinstance(answer, Response) for answer in one.answers)
