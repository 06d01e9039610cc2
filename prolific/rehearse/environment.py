"""The servers of a rehearsal: the emulated platform, a client of its control routes, and the survey server."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI

from prolific.emulator.app import create_app as create_platform
from prolific.emulator.contract import Contract
from prolific.emulator.platform import EmulatedPlatform
from prolific.emulator.webhooks import deliver_webhooks
from prolific.routes import mount_with
from spa.commands.workspace import Workspace, open_workspace
from spa.errors import PlatformError
from spa.responses.rehearsal import COPY, FACT
from spa.server.app import create_app as create_survey
from spa.server.http_server import Listener, listen
from spa.server.survey_context import SurveyContext

JOIN_AT_ONCE = 10_000
TOKEN = "rehearsal"  # any is taken
START_SECONDS = 30.0
SECONDS = 60.0  # for an answer of the survey server


class ActionRefused(PlatformError):
    """The emulated platform refuses an action."""


class EmulatorControl:
    """A client of the control routes under ``/emulator/``."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    @classmethod
    @contextmanager
    def at(cls, url: str) -> Iterator[EmulatorControl]:
        """Connect to a running emulator."""
        with httpx2.Client(base_url=url, timeout=SECONDS, trust_env=False) as client:
            yield cls(client)

    def now(self) -> float:
        """Return the platform's time, in seconds since 1970."""
        return float(self._do("GET", "clock/")["now"])

    def advance(self, seconds: float) -> None:
        """Advance the platform's clock."""
        self._do("POST", "clock/", {"advance": seconds})

    def behave(self, **switches: Any) -> None:
        """Change settings of the platform's behaviour."""
        self._do("PATCH", "behaviour/", switches)

    def plan_fault(self, operation: str, kind: str, **details: Any) -> None:
        """Plan a fault."""
        self._do("POST", "faults/", {"operation": operation, "kind": kind, **details})

    def faults(self) -> list[dict[str, Any]]:
        """Return the planned faults, with how often each happened."""
        return self._list("faults/")

    def requests(self, operation: str) -> list[dict[str, Any]]:
        """Return the logged requests of an operation."""
        return self._list(f"requests/?operation={operation}")

    def payments(self) -> list[dict[str, Any]]:
        """Return the requested bonus payments."""
        return self._list("payments/")

    def join(self, participant_id: str, attributes: Mapping[str, Any]) -> None:
        """Create a participant, unless they exist."""
        try:
            self._do("POST", "participants/", {"id": participant_id, "attributes": dict(attributes)})
        except ActionRefused as refusal:
            if "joined already" not in str(refusal):
                raise

    def offer(self, names: Sequence[str], choices: Sequence[str], lowest: Any, highest: Any) -> list[str]:
        """Add a filter or choices that the platform lacks, and return what was added."""
        body = {"names": list(names), "choices": list(choices), "lowest": lowest, "highest": highest}
        return list(self._do("POST", "filters/", body)["added"])

    def crowd(self, total: int, attributes: Mapping[str, Any]) -> None:
        """Create eligible participants, who never take part, up to a total."""
        missing = total - len(self._list("participants/"))
        if missing > 0:
            self._do("POST", "participants/", {"count": min(missing, JOIN_AT_ONCE), "attributes": dict(attributes)})

    def submissions(self, study_id: str) -> list[dict[str, Any]]:
        """Return all submissions of a study."""
        return self._list(f"studies/{study_id}/submissions/")

    def study(self, study_id: str) -> dict[str, Any]:
        """Return the state of a study."""
        return dict(self._do("GET", f"studies/{study_id}/state/"))

    def take(self, study_id: str, participant_id: str) -> dict[str, Any]:
        """Take a place."""
        return dict(self._do("POST", f"studies/{study_id}/take/", {"participant_id": participant_id}))

    def open(self, submission_id: str) -> dict[str, Any]:
        """Open the study."""
        return dict(self._do("POST", f"submissions/{submission_id}/start/"))

    def see(self, submission_id: str) -> dict[str, Any]:
        """Look at a submission."""
        return dict(self._do("GET", f"submissions/{submission_id}/"))

    def enter_code(self, submission_id: str, code: str | None) -> dict[str, Any]:
        """Enter a code, or report that there was none."""
        return dict(self._do("POST", f"submissions/{submission_id}/complete/", {"code": code}))

    def give_back(self, submission_id: str) -> dict[str, Any]:
        """Return a place."""
        return dict(self._do("POST", f"submissions/{submission_id}/return/"))

    def _list(self, path: str) -> list[dict[str, Any]]:
        return list(self._do("GET", path)["results"])

    def _do(self, method: str, path: str, body: Any = None) -> Any:
        try:
            response = self._client.request(method, f"/emulator/{path}", json=body)
        except httpx2.HTTPError as error:
            raise PlatformError(f"the emulated platform does not answer ({type(error).__name__})") from error
        if not response.is_success:
            raise ActionRefused(f"the emulated platform refuses {path}: {response.text}")
        return response.json() if response.content else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalEnvironment:
    """The running servers of a rehearsal."""

    platform_url: str
    survey_url: str
    people: EmulatorControl
    browser: httpx2.Client  # that all people use in turn
    workspace: Workspace
    environment: Mapping[str, str]


@contextmanager
def run_emulator(
    store: Path, port: int, *, project: str, currency: str, contract: Contract | None
) -> Iterator[tuple[str, EmulatedPlatform]]:
    """Run the emulated platform; yield its address and itself."""
    platform = EmulatedPlatform(store, clock="manual", project=project, currency=currency)
    try:
        with listen("127.0.0.1", port) as listener, deliver_webhooks(platform):
            with _served(create_platform(platform, contract), listener):
                yield listener.address, platform
    finally:
        platform.close()


@contextmanager
def run_survey_server(
    study: Path, platform_url: str, port: int, *, clock: Callable[[], float]
) -> Iterator[RehearsalEnvironment]:
    """Run the survey server of a study with the clock of a running platform."""
    environment = {"PROLIFIC_API_URL": platform_url, "PROLIFIC_API_TOKEN": TOKEN}

    def mount_adapter(app: FastAPI, context: SurveyContext) -> None:
        mount_with(app, context, environment)

    with ExitStack() as stack:
        people = stack.enter_context(EmulatorControl.at(platform_url))
        browser = stack.enter_context(httpx2.Client(timeout=SECONDS, trust_env=False))
        workspace = stack.enter_context(open_workspace(study))
        workspace.store.set_meta(FACT, COPY)
        listener = stack.enter_context(listen("127.0.0.1", port))
        app = create_survey(
            workspace, annotator_kind="simulated", adapters=[mount_adapter], public_url=listener.address, clock=clock
        )
        stack.enter_context(_served(app, listener))
        stack.enter_context(_environment(environment))
        yield RehearsalEnvironment(
            platform_url=platform_url,
            survey_url=listener.address,
            people=people,
            browser=browser,
            workspace=workspace,
            environment=environment,
        )


def free_port() -> int:
    """Return a free port."""
    with listen("127.0.0.1", 0) as listener:
        return int(listener.socket.getsockname()[1])


@contextmanager
def _served(app: FastAPI, listener: Listener) -> Iterator[None]:
    config = uvicorn.Config(app, log_level="critical", access_log=False, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener.socket]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise PlatformError(f"{listener.address}: the server did not start")
        time.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Point commands that run in this process at the emulated platform."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
