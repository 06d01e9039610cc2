"""The emulated platform and the survey server of a rehearsal, each on a fixed port."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import uvicorn
from fastapi import FastAPI

from prolific.emulator.app import create_app as create_platform
from prolific.emulator.contract import Contract
from prolific.emulator.platform import Platform
from prolific.emulator.webhook_delivery import deliver_webhooks
from prolific.rehearse.emulator_control import EmulatorControl
from prolific.routes import mount_with
from spa.commands.workspace import Workspace, open_workspace
from spa.errors import PlatformError
from spa.server.app import create_app as create_survey
from spa.server.http_server import Listener, listen
from spa.server.survey_context import SurveyContext

TOKEN = "rehearsal"  # any is taken
START_SECONDS = 30.0
SECONDS = 60.0  # for an answer of the survey server


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalEnvironment:
    """Everything that runs during a rehearsal."""

    platform_url: str
    survey_url: str
    people: EmulatorControl
    browser: httpx2.Client  # that all people use in turn
    workspace: Workspace
    environment: Mapping[str, str]


@contextmanager
def run_emulator(
    store: Path, port: int, *, project: str, currency: str, contract: Contract | None
) -> Iterator[tuple[str, Platform]]:
    """Run the emulated platform; yield its address and itself."""
    platform = Platform(store, clock="manual", project=project, currency=currency)
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
    """Run the survey server of a study beside a running platform; its clock is that of the platform."""
    environment = {"PROLIFIC_API_URL": platform_url, "PROLIFIC_API_TOKEN": TOKEN}

    def door(app: FastAPI, context: SurveyContext) -> None:
        mount_with(app, context, environment)

    with ExitStack() as stack:
        people = stack.enter_context(EmulatorControl.at(platform_url))
        browser = stack.enter_context(httpx2.Client(timeout=SECONDS, trust_env=False))
        workspace = stack.enter_context(open_workspace(study))
        listener = stack.enter_context(listen("127.0.0.1", port))
        app = create_survey(
            workspace, annotator_kind="simulated", adapters=[door], public_url=listener.address, clock=clock
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
    """Return a port that nobody uses at this moment."""
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
