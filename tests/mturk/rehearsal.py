"""A whole study as HITs with everything that may be killed being killed: publisher, collector, endpoint, survey server.

Run by hand with a study of your own::

    python -m tests.mturk.rehearsal study.toml --annotators 90 --kills 20 --seed 1 --browsers 6

Annotators sign in at the worker site by their invitations, accept, answer page by page and hand in, over HTTP as a
browser would. At the end each HIT, answer and payment must be there once, and the ledger equal the estimate.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2

from mturk.routes import submit_address
from spa.commands.workspace import open_workspace
from spa.records.form import Form
from spa.simulation.survey_client import fill_in, read_page
from tests import patience
from tests.mturk.rehearsal_browsers import take_part_in_browsers
from tests.mturk.studies import answers_to
from tests.reading_evidence import evidence_of
from tests.warm import WarmProcess

PATIENCE = 60.0  # seconds that an annotator keeps reloading before giving up
IFRAME = re.compile(r'<iframe class="hit" src="([^"]*)"')
GROUP = re.compile(r'href="(/groups/[A-Z0-9]+)"')
HAND_IN = re.compile(r'<form method="post" action="([^"]*)">')
HIDDEN = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')


class Impatient(AssertionError):
    """An annotator, or this rehearsal, waited too long."""


def free_ports(count: int) -> list[int]:
    """Return ports of this machine that nobody has."""
    bound = [socket.socket() for _ in range(count)]
    for one in bound:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in bound]
    for one in bound:
        one.close()
    return ports


def until(check: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Wait until something is true and return it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.02)
    raise Impatient(f"waited {seconds:.0f} s for {what}")


@dataclass
class Server:
    """A server process that is killed and started again at the same port."""

    arguments: Sequence[object]
    health: str
    log: Path
    environment: Mapping[str, str]
    process: WarmProcess | None = None
    kills: int = 0

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self.log.open("ab") as log:
            self.process = WarmProcess(self.arguments, environment=self.environment, output=log.fileno())
        until(self._answers, f"{self.health}: {self.log.read_text()[-2000:]}")

    def kill(self) -> None:
        """Kill it, as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
            self.kills += 1

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        try:
            return httpx2.get(self.health, timeout=5, trust_env=False).status_code == 200
        except httpx2.HTTPError:
            return False


@dataclass
class Lab:
    """A study in a folder, with the processes that serve it."""

    study: Path
    rng: random.Random
    annotators: int
    endpoint: Server
    survey: Server
    site_url: str
    frame_url: str
    survey_url: str
    environment: dict[str, str]
    invitations: list[dict[str, str]] = field(default_factory=list)
    killed: Counter[str] = field(default_factory=Counter)
    planning: float = 1.0  # seconds that a command takes which reads the study and changes nothing

    def spa(self, *arguments: str, code: int | None = 0) -> str:
        """Run a command to its end and return what it printed."""
        process = WarmProcess(arguments, environment=self.environment)
        said, _ = process.communicate()
        assert code is None or process.returncode == code, f"{arguments}: {said}"
        return said

    def bridge(self, name: str, *arguments: str) -> dict[str, Any]:
        """Run a command of the bridge and return what it says as JSON, once the endpoint is there."""

        def attempt() -> dict[str, Any] | None:
            process = WarmProcess(["mturk", name, self.study, *arguments, "--json"], environment=self.environment)
            said, _ = process.communicate()
            if process.returncode == 0:
                found: dict[str, Any] = json.loads(said[said.index("{\n") :])  # after the estimate
                return found
            assert "run the same command again" in said or "does not answer" in said, said
            return None

        return dict(until(attempt, f"spa mturk {name}"))

    def bridge_killed(
        self, name: str, *arguments: str, kills: int, between: tuple[float, float] = (0.2, 1.2)
    ) -> dict[str, Any]:
        """Run a command of the bridge, killed at random moments, until one comes to its end.

        The moments lie ``between`` multiples of the time that planning took on this machine.
        """
        for _ in range(kills):
            with open(os.devnull, "wb") as nowhere:
                words = ["mturk", name, self.study, *arguments, "--json"]
                running = WarmProcess(words, environment=self.environment, output=nowhere.fileno())
            try:
                running.wait(timeout=self.planning * self.rng.uniform(*between))
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
                self.killed[name] += 1
        return self.bridge(name, *arguments)


@contextmanager
def open_lab(study: Path, *, annotators: int, seed: int) -> Iterator[Lab]:
    """Build a study, start an emulator and a survey server beside it, and invite annotators."""
    folder = study.parent
    endpoint_port, frame_port, survey_port = free_ports(3)
    site, frames, survey = (f"http://127.0.0.1:{port}" for port in (endpoint_port, frame_port, survey_port))
    text = study.read_text()
    assert "[mturk]" in text, "the study needs a table [mturk]"
    study.write_text(text.replace("[mturk]", f'[mturk]\npublic_url = "{survey}"'))
    environment = {**os.environ, "MTURK_ENDPOINT_URL": site}
    store = str(folder / "lab.sqlite")
    serve = ["mturk", "serve", store, "--port", str(endpoint_port), "--frame-port", str(frame_port), "--emulate"]
    endpoint = Server(serve, f"{site}/health", folder / "endpoint.log", environment)
    asked = ["serve", str(study), "--port", str(survey_port)]
    lab = Lab(
        study=study,
        rng=random.Random(seed),
        annotators=annotators,
        endpoint=endpoint,
        survey=Server(asked, f"{survey}/health", folder / "survey.log", environment),
        site_url=site,
        frame_url=frames,
        survey_url=survey,
        environment=environment,
    )
    try:
        lab.spa("build", str(study), "--annotators", str(annotators))
        invite = ["mturk", "invite", "--store", store, "--count", str(annotators), "--locale", "US", "--address", site]
        lab.invitations = json.loads(lab.spa(*invite, "--json"))
        endpoint.start()
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            found = re.search(rf"export {name}=(\S+)", endpoint.log.read_text())
            assert found is not None, endpoint.log.read_text()
            environment[name] = found[1]
        yield lab
    finally:
        lab.endpoint.kill()
        lab.survey.kill()


class Annotator:
    """Somebody with an invitation, who reloads when a page does not come."""

    def __init__(self, lab: Lab, invitation: str, form_of: Callable[[str], Form]) -> None:
        self.lab = lab
        self.invitation = invitation
        self.form_of = form_of
        self.browser = httpx2.Client(timeout=patience.SECONDS, trust_env=False, follow_redirects=True)
        self.end = time.monotonic() + PATIENCE * 2
        self.seen = ""

    def take_part(self) -> str:
        """Sign in, take one HIT, answer it and hand it in; returns the assignment's id."""
        with self.browser:
            self._sign_in()
            while True:
                work = self._accept()
                if self._is_done(work):
                    return work
                frame = self._frame_of(work)
                if frame is not None:
                    self._answer(frame)
                if self._is_done(work):
                    return work

    def _sign_in(self) -> None:
        """Open the link and press its button, again where the answer was lost on its way."""
        address = f"{self.lab.site_url}{urlsplit(self.invitation).path}"
        while True:
            self._send("GET", address)
            if self._send("POST", address, origin=self.lab.site_url).url.path == "/hits":
                return
            self._wait()

    def _accept(self) -> str:
        """Return the work in hand, or take some that is on the list."""
        while True:
            held = re.search(r'href="/work/([A-Z0-9]+)"', self._send("GET", f"{self.lab.site_url}/work").text)
            if held is not None:
                return held[1]
            group = GROUP.search(self._send("GET", f"{self.lab.site_url}/hits").text)
            if group is not None:
                self._press_accept(group[1])
            else:
                self._wait()

    def _press_accept(self, group: str) -> None:
        """Press the button once; what came of it is looked up, for a second press might take a second HIT."""
        shown = dict(HIDDEN.findall(self._send("GET", f"{self.lab.site_url}{group}").text))
        with suppress(httpx2.HTTPError):
            self.browser.post(f"{self.lab.site_url}{group}/accept", data=shown, headers={"origin": self.lab.site_url})

    def _is_done(self, work: str) -> bool:
        return bool(self._send("GET", f"{self.lab.site_url}/work/{work}").url.path.endswith("/done"))

    def _frame_of(self, work: str) -> str | None:
        found = IFRAME.search(self._send("GET", f"{self.lab.site_url}/work/{work}").text)
        return None if found is None else unescape(found[1])

    def _answer(self, frame: str) -> None:
        """Answer what the frame shows, to the page that hands it in."""
        response = self._send("GET", frame)
        while True:
            shown = read_page(response.text)
            if shown.begin is not None:
                response = self._send("POST", urljoin(str(response.url), shown.begin))
                continue
            if shown.form is not None and shown.form.page_id == "whole":
                self._hand_in_whole(frame, shown.form.assignment_id)
                return
            if shown.form is None:
                self._hand_in(response.text)
                return
            form = self.form_of(shown.form.assignment_id)
            page = next(page for page in form.pages if page.page_id == shown.form.page_id)
            payload = {**fill_in(shown.form, form, answers_to(form)), **evidence_of(page)}
            action = urljoin(str(response.url), shown.form.action)
            response = self._send("POST", action, data=payload)

    def _hand_in_whole(self, frame: str, assignment_id: str) -> None:
        """Do what the page's script does: put the frame's assignment into the form and post it where it may go."""
        given = {name: values[0] for name, values in parse_qs(urlsplit(frame).query).items()}
        fields = {"assignmentId": given["assignmentId"], "spa_form": assignment_id}
        answers = answers_to(self.form_of(assignment_id))
        self._send("POST", submit_address(given["turkSubmitTo"]), data={**fields, **answers}, origin="null")

    def _hand_in(self, page: str) -> None:
        action = HAND_IN.search(page)
        if action is None:
            raise AssertionError(f"expected the page that hands in, got {page[-1500:]}")
        fields = {unescape(name): unescape(value) for name, value in HIDDEN.findall(page)}
        self._send("POST", unescape(action[1]), data=fields, origin="null")

    def _send(
        self, method: str, url: str, *, data: Mapping[str, str] | None = None, origin: str = ""
    ) -> httpx2.Response:
        """Send a request until a server answers that is not being restarted."""
        while True:
            headers = {"origin": origin} if origin else {}
            try:
                answer = self.browser.request(method, url, data=dict(data or {}), headers=headers)
            except httpx2.HTTPError:
                self._wait()
                continue
            self.seen = f"{method} {url}: {answer.status_code} {answer.url} {answer.text[-1500:]}"
            if answer.status_code < 500 and answer.status_code != 429:
                return answer
            self._wait()

    def _wait(self) -> None:
        if time.monotonic() > self.end:
            raise Impatient(f"{self.invitation}: waited too long; last seen: {self.seen}")
        time.sleep(0.05)


def answer_all(lab: Lab, form_of: Callable[[str], Form], *, threads: int, kills: int, browsers: int = 0) -> list[str]:
    """Let everybody take part while servers are killed and a collector is killed at work.

    The first ``browsers`` of them work in real browsers, two at a time, beside the others.
    """
    over = threading.Event()

    def unrest() -> None:
        for number in range(kills):
            if over.wait(lab.rng.uniform(0.2, 1.5)):
                return
            server = lab.endpoint if number % 2 == 0 else lab.survey
            server.kill()
            time.sleep(lab.rng.uniform(0.0, 1.0))
            server.start()

    def collecting() -> None:
        while not over.wait(1.0):
            lab.bridge_killed("collect", kills=1)

    helpers = [threading.Thread(target=unrest), threading.Thread(target=collecting)]
    for one in helpers:
        one.start()
    try:
        links = [one["link"] for one in lab.invitations]
        with ThreadPoolExecutor(threads + 1) as pool:
            seen = pool.submit(take_part_in_browsers, lab.site_url, links[:browsers], form_of) if browsers else None
            done = list(pool.map(lambda link: Annotator(lab, link, form_of).take_part(), links[browsers:]))
            return [*(seen.result() if seen else []), *done]
    finally:
        over.set()
        for one in helpers:
            one.join()


def rehearse(
    study: Path, *, annotators: int, kills: int, seed: int, threads: int = 6, browsers: int = 0
) -> dict[str, Any]:
    """Go through a study's whole life and check that everything is there once."""
    with open_lab(study, annotators=annotators, seed=seed) as lab:
        began = time.monotonic()
        estimate = lab.bridge("plan", "--annotators", str(annotators))
        lab.planning = time.monotonic() - began
        publish = ["publish", "--annotators", str(annotators), "--yes"]
        lab.bridge_killed(*publish, kills=kills // 4 + 1, between=(0.4, 1.2))
        lab.survey.start()
        with open_workspace(study) as workspace:
            done = answer_all(lab, workspace.form, threads=threads, kills=kills, browsers=browsers)
        lab.bridge_killed("collect", kills=1)
        lab.bridge_killed("approve", "--yes", kills=kills // 4 + 1)
        bonus = ["--amount", "0.50", "--reason", "Thank you for the care.", "--yes"]
        named = [argument for one in done[:3] for argument in ("--assignment", one)]
        lab.bridge_killed("bonus", *named, *bonus, kills=1)
        lab.bridge("collect")
        checked = check(lab, done, estimate)
        lab.spa("report", str(study), "--out", str(study.parent / "report"))
        assert (study.parent / "report" / "report.html").is_file()
        return checked


def check(lab: Lab, done: Sequence[str], estimate: Mapping[str, Any]) -> dict[str, Any]:
    """Check that every HIT, answer and payment is there once; returns what was counted."""
    status = lab.bridge("status")
    entries = httpx2.get(f"{lab.site_url}/emulator/ledger", timeout=60).json()["entries"]
    rewards = [one for one in entries if one["kind"] == "reward"]
    bonuses = [one for one in entries if one["kind"] == "bonus"]
    paid = sum((Decimal(one["amount"]) + Decimal(one["fee"]) for one in rewards), Decimal(0))
    assert status["hits"] == len(estimate["hits"]), status
    assert status["places"] == lab.annotators
    assert status["collected"] == {"Approved": lab.annotators}, status
    assert status["unfinished_calls"] == 0
    assert len(set(done)) == len(done) == lab.annotators
    assert sorted(one["assignment_id"] for one in rewards) == sorted(done)
    assert len({one["worker_id"] for one in rewards}) == lab.annotators
    assert sorted(one["assignment_id"] for one in bonuses) == sorted(done[:3])
    assert paid == Decimal(estimate["total"]), (paid, estimate)
    with open_workspace(lab.study) as workspace:
        visits = [visit for visit in workspace.store.visits.of_people("mturk") if visit.completed]
        assert len(visits) == len({visit.external_id for visit in visits}) == lab.annotators
        assert len({visit.annotator_id for visit in visits}) == lab.annotators
        assert sorted(visit.external_id or "" for visit in visits) == sorted(done)
        assert not any(visit.extra for visit in visits)
    return {
        "annotators": lab.annotators,
        "hits": status["hits"],
        "paid": str(paid),
        "estimate": estimate["total"],
        "bonuses": len(bonuses),
        "endpoint_kills": lab.endpoint.kills,
        "survey_kills": lab.survey.kills,
        "commands_killed": dict(lab.killed),
    }


def main() -> None:
    """Rehearse a study of the user's in a folder that is thrown away."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", type=Path)
    parser.add_argument("--annotators", type=int, default=12)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=6)
    parser.add_argument("--browsers", type=int, default=0, help="how many of the annotators work in real browsers")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study.toml"
        shutil.copytree(given.study.parent, folder, dirs_exist_ok=True)
        shutil.copy(given.study, study)
        began = time.monotonic()
        found = rehearse(
            study,
            annotators=given.annotators,
            kills=given.kills,
            seed=given.seed,
            threads=given.threads,
            browsers=given.browsers,
        )
        sys.stdout.write(json.dumps({**found, "seconds": round(time.monotonic() - began)}, indent=2) + "\n")


if __name__ == "__main__":
    main()
