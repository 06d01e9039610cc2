"""The web servers of docs/deploy work in front of the server as they are configured there."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.commands.serve import serve
from spa.commands.workspace import open_workspace
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from spa.server.request_guard import parse_networks
from tests import patience
from tests.benchmarks.bench_server import free_port
from tests.spa.small_study import write_study

DOCS = Path(__file__).parents[3] / "docs"
OWN = "https://study.example.org"
FRAME = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ }}
http {{
  client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
  uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
  {server}
}}
"""
CADDY_FRAME = """{{
  admin off
  auto_https disable_redirects
  skip_install_trust
  storage file_system {folder}/caddy
}}
"""


def test_every_option_that_is_told_of_exists() -> None:
    known = {name for parameter in serve.params for name in parameter.opts}
    texts = [DOCS / "own-people.md", *(DOCS / "deploy").iterdir()]
    lines = [line for text in texts for line in text.read_text().splitlines()]
    serving = [line for line in lines if "spa serve" in line or '"spa", "serve"' in line]
    told = {option for line in serving for option in re.findall(r"--[a-z-]+", line)}
    assert told <= known
    assert len(told) > 4


def test_the_server_behind_nginx_as_documented(tmp_path: Path) -> None:
    """Over TLS, with a certificate made here: our own pages may post, and another site's may not."""
    nginx, openssl = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin"), shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip("nginx or openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=study.example.org", "-addext", "subjectAltName=DNS:study.example.org"]
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([openssl, *made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    with public_server(tmp_path) as url:
        port = free_port()
        server = (
            (DOCS / "deploy" / "nginx.conf")
            .read_text()
            .replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
            .replace("/etc/letsencrypt/live/study.example.org/fullchain.pem", str(certificate))
            .replace("/etc/letsencrypt/live/study.example.org/privkey.pem", str(key))
            .replace("http://127.0.0.1:8000", url)
        )
        configuration = tmp_path / "nginx.conf"
        configuration.write_text(FRAME.format(folder=tmp_path, server=server, user="user root;"))
        with running([nginx, "-c", configuration, "-p", tmp_path]):
            walk_through(port, certificate)


def test_the_server_behind_caddy_as_documented(tmp_path: Path) -> None:
    """As behind nginx; the certificate is of Caddy's own making (``tls internal``), nothing else differs."""
    caddy = shutil.which("caddy")
    if caddy is None:
        pytest.skip("Caddy is not installed")
    with public_server(tmp_path) as url:
        port, told = free_port(), (DOCS / "deploy" / "Caddyfile").read_text()
        assert told.startswith("study.example.org {\n")
        ours = f"study.example.org:{port} {{\nbind 127.0.0.1\ntls internal\n"
        server = told.replace("study.example.org {\n", ours).replace("127.0.0.1:8000", url)
        configuration = tmp_path / "Caddyfile"
        configuration.write_text(CADDY_FRAME.format(folder=tmp_path) + server)
        environment = {**os.environ, "HOME": str(tmp_path)}
        with running([caddy, "run", "--config", configuration, "--adapter", "caddyfile"], env=environment):
            walk_through(port, tmp_path / "caddy" / "pki" / "authorities" / "local" / "root.crt")


@contextmanager
def public_server(folder: Path) -> Iterator[str]:
    """Serve a study as behind https://study.example.org, and see afterwards that one person was let in."""
    path = write_study(folder)
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    with open_workspace(path) as workspace:
        proxies = parse_networks(["127.0.0.1"])
        app = create_app(workspace, public_url=OWN, only_public_host=True, trusted_proxies=proxies)
        with serve_on_loopback(app) as url:
            yield url
        assert len(workspace.store.tokens()) == 7  # six personal links, and one that was let in


@contextmanager
def running(command: list[str | Path], *, env: dict[str, str] | None = None) -> Iterator[None]:
    with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def walk_through(port: int, certificate: Path) -> None:
    """Come in by the open link, once from our own page and once from another site; send more than is taken."""
    trusted = when_ready(port, certificate)
    asked = {"host": "study.example.org"}
    named = {"sni_hostname": "study.example.org"}
    with httpx2.Client(verify=trusted, trust_env=False, timeout=patience.SECONDS) as client:
        address = f"https://127.0.0.1:{port}/"
        evil = client.post(address, headers={**asked, "origin": "https://evil.example"}, extensions=named)
        own = client.post(address, headers={**asked, "origin": OWN}, extensions=named)
        page = client.get(f"https://127.0.0.1:{port}{own.headers['location']}", headers=asked, extensions=named)
        form = {**asked, "origin": OWN, "content-type": "application/x-www-form-urlencoded"}
        there = f"https://127.0.0.1:{port}{page.headers['location']}"
        large = client.post(there, headers=form, extensions=named, content=b"x" * 1_500_000)
        long = {f"x-{number}": "b" * 6_000 for number in range(3)}
        headed = client.get(address, headers={**asked, **long}, extensions=named)
    assert (large.status_code, headed.status_code) == (413, 431)
    assert (evil.status_code, own.status_code, page.status_code) == (403, 303, 303)
    assert "max-age=31536000" in page.headers["strict-transport-security"]
    assert "default-src 'none'" in page.headers["content-security-policy"]


def when_ready(port: int, certificate: Path) -> ssl.SSLContext:
    """Wait until the web server greets us by its certificate, and return what trusts it."""
    deadline = time.monotonic() + patience.SECONDS
    while True:
        try:
            trusted = ssl.create_default_context(cafile=str(certificate))
            with (
                socket.create_connection(("127.0.0.1", port), timeout=patience.SECONDS) as plain,
                trusted.wrap_socket(plain, server_hostname="study.example.org"),
            ):
                return trusted
        except OSError:  # nobody listens yet, or the certificate is still being made
            if time.monotonic() > deadline:
                raise
        time.sleep(0.05)
