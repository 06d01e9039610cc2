"""What docs/serving.md tells to put in front of the server works as it stands there."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from spa.annotators.guard import parse_networks
from spa.annotators.loopback import served
from spa.annotators.server import create_app
from spa.cli import main
from spa.commands.people import serve
from spa.commands.workspace import open_workspace
from tests.benchmarks.bench_server import free_port
from tests.spa.small_study import write_study

DOCUMENT = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
PATIENCE = 30.0  # seconds
FRAME = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ }}
http {{
  client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
  uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
  {server}
}}
"""


def block(language: str) -> str:
    """Return the first block of a language in the document."""
    found = re.search(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)
    assert found is not None
    return found[1]


def test_every_option_that_is_told_of_exists() -> None:
    known = {name for parameter in serve.params for name in parameter.opts}
    told = {
        option for line in DOCUMENT.splitlines() if "spa serve" in line for option in re.findall(r"--[a-z-]+", line)
    }
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
    path = write_study(tmp_path)
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    port = free_port()
    with open_workspace(path) as workspace:
        app = create_app(
            workspace, public_url="https://study.example.org", trusted_proxies=parse_networks(["127.0.0.1"])
        )
        with served(app) as url:
            server = (
                block("nginx")
                .replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
                .replace("/etc/letsencrypt/live/study.example.org/fullchain.pem", str(certificate))
                .replace("/etc/letsencrypt/live/study.example.org/privkey.pem", str(key))
                .replace("http://127.0.0.1:8000", url)
            )
            configuration = tmp_path / "nginx.conf"
            configuration.write_text(FRAME.format(folder=tmp_path, server=server, user="user root;"))
            with subprocess.Popen([nginx, "-c", configuration, "-p", tmp_path], stderr=subprocess.PIPE) as running:
                try:
                    walk_through(port, certificate)
                finally:
                    running.terminate()
        assert len(workspace.store.tokens()) == 7  # six personal links, and one that was let in


def walk_through(port: int, certificate: Path) -> None:
    """Come in by the open link, once from our own page and once from another site."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    trusted = ssl.create_default_context(cafile=str(certificate))
    asked = {"host": "study.example.org"}
    named = {"sni_hostname": "study.example.org"}
    with httpx2.Client(verify=trusted, trust_env=False, timeout=PATIENCE) as client:
        address = f"https://127.0.0.1:{port}/"
        evil = client.post(address, headers={**asked, "origin": "https://evil.example"}, extensions=named)
        own = client.post(address, headers={**asked, "origin": "https://study.example.org"}, extensions=named)
        page = client.get(f"https://127.0.0.1:{port}{own.headers['location']}", headers=asked, extensions=named)
    assert (evil.status_code, own.status_code, page.status_code) == (403, 303, 303)
    assert "max-age=31536000" in page.headers["strict-transport-security"]
    assert "default-src 'none'" in page.headers["content-security-policy"]
