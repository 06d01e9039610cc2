"""What is deployed by containers: no root, no secret in a layer, a health check that tells, nothing that lies about."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.conftest import need

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "docs" / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
SECRET = re.compile(r"(?i)(password|secret|token|api_?key)")


def steps(word: str) -> list[str]:
    """Return what follows an instruction of the Dockerfile, each time it stands there."""
    return re.findall(rf"^{word} (.*)$", DOCKERFILE, flags=re.M)


def is_sent(name: str) -> bool:
    """Return whether a file of the checkout goes to the builder: the last pattern that fits it decides."""
    sent = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern = line.removeprefix("!")
            parts = name.split("/")
            above = ["/".join(parts[: n + 1]) for n in range(len(parts))]
            if pattern.startswith("**/"):
                fits = any(fnmatchcase(part, pattern[3:]) for part in parts)
            else:
                fits = any(fnmatchcase(place, pattern) and place.count("/") == pattern.count("/") for place in above)
            sent = line.startswith("!") if fits else sent
    return sent


def test_image_runs_without_root_and_without_secrets() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    (user,) = re.findall(r"^USER (\d+)$", last, flags=re.M)
    assert int(user) >= 1000
    assert last.index("\nUSER ") < last.index("\nCMD ")
    assert not re.search(r"^(RUN|COPY|ADD)", last[last.index("\nUSER ") :], flags=re.M)
    assert [step for step in steps("(?:ENV|ARG|RUN|ADD)") if SECRET.search(step)] == []
    assert all(re.search(r":\d", image.split()[0]) for image in steps("FROM"))


def test_image_gets_the_packages_and_no_data() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    needed = ["pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]]
    needed += [f"{package}/__init__.py" for package in packages] + ["spa/examples/stories/study.toml"]
    assert [name for name in needed if not is_sent(name)] == []
    private = ["my-study/study.toml", "study.sqlite", "pseudonyms.key", ".env", ".git/config", "dist/x.whl", ".venv/x"]
    private += ["spa/study.sqlite", "spa/study.sqlite-wal", "analysis/pseudonyms.key", "spa/.env", "spa/prod.env"]
    private += ["spa/__pycache__/x.pyc", "tests/test_docs.py"]
    assert [name for name in private if is_sent(name)] == []


@contextmanager
def answering(status: int) -> Iterator[int]:
    """Answer every request with a status, on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer."""
            self.send_response(status if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=partial(server.serve_forever, poll_interval=0.01), daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_health_check_of_the_image_tells(status: int, healthy: bool) -> None:
    (command,) = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", DOCKERFILE, flags=re.M)
    program, *words = json.loads(command)
    assert program == "python"
    with answering(status) as port:
        asked = [word.replace("127.0.0.1:8000", f"127.0.0.1:{port}") for word in words]
        done = subprocess.run([sys.executable, "-S", *asked], check=False, capture_output=True)
    assert (done.returncode == 0) == healthy


def test_image_builds(tmp_path: Path) -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True, check=False).returncode:
        pytest.skip("no docker daemon answers; hadolint and the other tests read the Dockerfile")
    base = steps("FROM")[0].split()[0]
    if subprocess.run([docker, "image", "inspect", base], capture_output=True, check=False).returncode:
        pytest.skip(f"docker has no image {base}")
    subprocess.run(
        [docker, "build", "--file", str(DEPLOY / "Dockerfile"), "--tag", "spa-eval-test", str(ROOT)], check=True
    )
    shown = subprocess.run([docker, "run", "--rm", "spa-eval-test", "spa", "--help"], capture_output=True, check=True)
    assert b"Usage: spa" in shown.stdout


def test_composed_services_fit_together() -> None:
    """Each waits for what it needs, reaches the database by its name, and has its secrets from outside."""
    need("yaml")
    import yaml

    text = (DEPLOY / "compose.yaml").read_text()
    composed = yaml.safe_load(text)
    services = composed["services"]
    assert set(services) == {"database", "assignments", "server", "caddy"}
    for service in services.values():
        waits = service.get("depends_on", {})
        assert set(waits) <= set(services)
        for name, how in waits.items():
            checked = services[name].get("healthcheck") or "build" in services[name]
            assert how["condition"] != "service_healthy" or checked
        for name, value in service.get("environment", {}).items():
            assert not SECRET.search(name) or re.fullmatch(r"\$\{\w+:\?.+\}", value), name
    for name in ("assignments", "server"):
        ours = services[name]
        assert (ours["read_only"], ours["cap_drop"]) == (True, ["ALL"])
        assert "postgresql://spa@database/study" in ours["command"]
        assert (DEPLOY / ours["build"]["context"] / ours["build"]["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    assert services["caddy"]["network_mode"] == "service:server"
    assert "127.0.0.1:8000" in (DEPLOY / "Caddyfile").read_text()
    command = services["server"]["command"]
    assert command[command.index("--trusted-proxy") + 1] == "127.0.0.1"
    assert command[command.index("--port") + 1] == "8000"
    mounted = [place.split(":")[0] for service in services.values() for place in service["volumes"]]
    assert all(place in composed["volumes"] or place.startswith(("./Caddyfile", "${STUDY")) for place in mounted)
