"""Tables in parts at addresses: a web server, a bucket of S3, and what is said where they cannot be read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from analysis import Reading, check_frames
from analysis.parts.locations import find_parts
from analysis.parts.reading import read_totals
from spa.errors import AnalysisError
from tests.analysis.parts.test_parts_read import assert_same, choices, split
from tests.analysis.totals_in_memory import totals_of


class Silent(SimpleHTTPRequestHandler):
    """Files of a folder, without a line on each request."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Serve S3 here, with one empty bucket."""
    s3fs = pytest.importorskip("s3fs", reason="needs extra s3, whose boto3 is older than that of extra mturk")
    moto = pytest.importorskip("moto.server", reason="needs moto[server] beside extra s3")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    files = s3fs.S3FileSystem()
    files.makedirs("answers", exist_ok=True)
    yield files
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def problem_of(where: str) -> str:
    with pytest.raises(AnalysisError) as caught:
        read_totals(where, "choices", Reading())
    (line,) = caught.value.problems
    assert len(line) < 500
    assert "\n" not in line
    return line


def test_parts_on_a_web_server_are_read(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="needs extra cluster")
    table = choices()
    split(table, tmp_path / "p", [50])
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(tmp_path)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        where = f"http://127.0.0.1:{server.server_port}/p"
        assert_same(
            totals_of(check_frames({"choices": table}, Reading()), "choices"),
            read_totals(f"{where}/*.parquet", "choices", Reading()),
        )
        assert "got none" in problem_of(f"{where}/none/*.parquet")
    finally:
        server.shutdown()
        server.server_close()


def test_parts_in_a_bucket_are_read(bucket: Any, tmp_path: Path) -> None:
    table = choices()
    split(table, tmp_path / "p", [50])
    bucket.put(str(tmp_path / "p"), "answers/p", recursive=True)
    whole = totals_of(check_frames({"choices": table}, Reading()), "choices")
    for where in ("s3://answers/p", "s3://answers/p/*.parquet"):
        assert_same(whole, read_totals(where, "choices", Reading()))


def test_a_bucket_that_cannot_be_read_is_told_in_a_line(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "got none" in problem_of("s3://answers/none/*.parquet")
    assert problem_of("s3://nobody/p").endswith("got none of the name nobody")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    type(bucket).clear_instance_cache()
    assert "credentials; set AWS_PROFILE" in problem_of("s3://answers/p")


def test_a_missing_package_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.registry import _registry

    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(_registry, "s3", raising=False)
    with pytest.raises(AnalysisError, match=r"expected the package that reads s3://; .*spa-eval\[s3\]"):
        find_parts("s3://answers/p")
