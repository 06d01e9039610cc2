"""A client program that knows nothing of this house: Amazon's own command line, as it is, against the endpoint.

It needs an environment of its own, with its own and older botocore: `aws` is found on the PATH, or named by SPA_AWSCLI.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import pytest

from tests.conftest import missing_part
from tests.mturk.emulated import QUESTION, Emulator

AWS = os.environ.get("SPA_AWSCLI") or shutil.which("aws")
FORKS = """
import json, os, sys
import awscli.clidriver
awscli.clidriver.create_clidriver()  # imports the rest
for line in sys.stdin:
    words, out, err = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv = ["aws", *words]
        sys.exit(awscli.clidriver.main())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class CommandLine:
    """``aws mturk`` with an endpoint, a key, and nothing else changed: a process for each command.

    Each is forked from one that has imported the program, where that is a script of a Python that can be asked.
    """

    def __init__(self, place: Emulator, home: Path) -> None:
        self.home = home
        self.forking: subprocess.Popen[str] | None = None
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "AWS_ACCESS_KEY_ID": place.key.access_key_id,
            "AWS_SECRET_ACCESS_KEY": place.key.secret_access_key,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": place.url,
            "AWS_MAX_ATTEMPTS": "1",
            "AWS_PAGER": "",
        }

    def __enter__(self) -> Self:
        with Path(str(AWS)).open("rb") as script:
            begins = script.readline().decode(errors="replace").strip()
        python = begins.removeprefix("#!")
        if begins.startswith("#!") and Path(python).name.startswith("python"):
            given = {"env": self.environment, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self.forking = subprocess.Popen([python, "-c", FORKS], **given)
        return self

    def __exit__(self, *error: object) -> None:
        if self.forking is not None:
            self.forking.communicate(timeout=60)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command and return what came of it."""
        typed = ["mturk", *words]
        if self.forking is None:
            return subprocess.run(
                [str(AWS), *typed], env=self.environment, capture_output=True, text=True, timeout=120, check=False
            )
        assert self.forking.stdin is not None
        assert self.forking.stdout is not None
        out, err = self.home / "stdout", self.home / "stderr"
        self.forking.stdin.write(json.dumps([typed, str(out), str(err)]) + "\n")
        self.forking.stdin.flush()
        ended = int(self.forking.stdout.readline())
        return subprocess.CompletedProcess(typed, ended, out.read_text(), err.read_text())

    def ask(self, *words: str) -> dict[str, Any]:
        """Run a command that succeeds and return its JSON."""
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout)) if done.stdout.strip() else {}


@pytest.mark.slow
def test_the_command_line_of_aws_does_a_whole_study(own: Emulator, tmp_path: Path) -> None:
    if AWS is None:
        missing_part("awscli is not installed: no `aws` on the PATH, and SPA_AWSCLI names none")
    question = tmp_path / "question.xml"
    question.write_text(QUESTION)
    with CommandLine(own, tmp_path) as aws:
        assert aws.ask("get-account-balance")["AvailableBalance"] == "10000.00"
        words = "create-hit --title Judge --description Read --reward 0.50 --lifetime-in-seconds 3600".split()
        words += "--assignment-duration-in-seconds 600 --max-assignments 3 --unique-request-token t1".split()
        hit = aws.ask(*words, "--question", f"file://{question}")["HIT"]
        assert hit["Question"] == QUESTION
        again = aws.run(*words, "--question", f"file://{question}")
        assert again.returncode != 0
        assert hit["HITId"] in again.stderr
        people = own.workers(3)
        made = own.do("work", hit_ids=[hit["HITId"]], worker_ids=people, fields={"a": "7"})["assignment_ids"]
        listed = aws.ask("list-assignments-for-hit", "--hit-id", hit["HITId"], "--page-size", "1")["Assignments"]
        assert [work["AssignmentId"] for work in listed] == made
        assert "<FreeText>7</FreeText>" in listed[0]["Answer"]
        aws.ask("approve-assignment", "--assignment-id", made[0], "--requester-feedback", "thank you")
        aws.ask("reject-assignment", "--assignment-id", made[1], "--requester-feedback", "blank")
        aws.ask("approve-assignment", "--assignment-id", made[2])
        bonus = ["--worker-id", people[0], "--bonus-amount", "0.25", "--assignment-id", made[0], "--reason", "fast"]
        aws.ask("send-bonus", *bonus)
        assert aws.ask("list-bonus-payments", "--hit-id", hit["HITId"])["BonusPayments"][0]["BonusAmount"] == "0.25"
        later = datetime.fromtimestamp(own.clock() + 86_400, UTC).isoformat()
        aws.ask("update-expiration-for-hit", "--hit-id", hit["HITId"], "--expire-at", later)
        found = aws.ask("get-hit", "--hit-id", hit["HITId"])["HIT"]
        assert (found["HITStatus"], found["NumberOfAssignmentsCompleted"]) == ("Reviewable", 3)
        assert found["Expiration"] == own.clock() + 86_400
        aws.ask("delete-hit", "--hit-id", hit["HITId"])
        assert aws.ask("list-hits")["HITs"] == []
        assert aws.ask("get-account-balance")["AvailableBalance"] == "9998.50"  # twice 0.60, and 0.30
