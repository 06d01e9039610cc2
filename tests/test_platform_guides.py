"""The guides to servers and platforms run as they are written, against the emulated platforms and a real PostgreSQL."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import httpx2
import polars as pl
import pytest
from click.testing import CliRunner

from spa.cli import main
from tests.conftest import missing_part
from tests.guides.others import batches_of_old_hits
from tests.guides.participants import Participants
from tests.guides.reader import GuideReader, reader_in
from tests.guides.walking import init, table, walk
from tests.guides.workers import answer_hits
from tests.postgres import postgres_cluster as postgres_cluster
from tests.postgres import postgres_url as postgres_url

pytestmark = pytest.mark.slow


def test_your_own_people(tmp_path: Path, postgres_url: str) -> None:
    for program in ("curl", "pg_dump"):
        if shutil.which(program) is None:
            missing_part(f"{program} is not installed")
    instead = {
        "postgresql://spa@localhost/study": postgres_url.replace("+psycopg", ""),  # the tests' own server
        "/srv/study/": "my-study/",  # where the guide's service keeps the study
        "/backup/": "",
    }

    def open_a_link(reader: GuideReader) -> None:
        links = (tmp_path / "links.txt").read_text().split()
        assert len(links) == 24
        assert httpx2.get(links[7], trust_env=False, follow_redirects=True).status_code == 200

    with reader_in(tmp_path, addresses={"https://study.example.org": ("serve",)}, instead=instead) as reader:
        init(reader)
        reader.environment["SPA_ADMIN_TOKEN"] = "a-token-of-the-host"
        walk(reader, "own-people.md", before={"spa status": open_a_link})
        assert "24" in reader.printed["spa status my-study/study.toml"]
        assert any("places" in printed for text, printed in reader.printed.items() if text.startswith("curl"))
    assert (tmp_path / "study.dump").stat().st_size
    assert (tmp_path / "monday.sqlite").stat().st_size


def test_prolific(tmp_path: Path) -> None:
    addresses = {"http://127.0.0.1:8090": ("prolific", "emulate"), "https://survey.example.org": ("serve",)}
    instead = {"--annotators 30": "--annotators 3", "annotators = 30": "annotators = 3", " --every 300": ""}
    with reader_in(tmp_path, addresses=addresses, instead=instead) as reader:
        study = init(reader, table("prolific.md", "[prolific.screeners]"))
        people = Participants(reader, study)
        walk(
            reader,
            "prolific.md",
            before={
                "spa prolific publish": people.crowd,
                "spa prolific status": people.come,
                "spa prolific bonus": people.list_bonuses,
            },
        )
        (printed,) = [printed for text, printed in reader.printed.items() if text.startswith("spa prolific emulate")]
        assert "project 60f6acb180a7b59ac0621f9e, currency GBP" in printed
        assert people.paid() == 2
    for rehearsal in ("rehearsal", "rehearsal-on-a-bad-day"):
        assert (tmp_path / rehearsal / "rehearsal.html").is_file()
    assert (tmp_path / "report" / "report.html").is_file()


def test_an_emulated_project_has_an_id_like_the_platforms(tmp_path: Path) -> None:
    words = ["prolific", "emulate", "--platform", str(tmp_path / "platform.sqlite"), "--project", "mine"]
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code == 2
    assert "expected 24 hexadecimal digits, got 'mine'" in refused.output
    assert list(tmp_path.iterdir()) == []


def test_hits(tmp_path: Path) -> None:
    addresses = {"http://127.0.0.1:8470": ("mturk", "serve"), "https://survey.example.org": ("serve",)}
    instead = {"annotators = 90": "annotators = 3", "approval_rate =": "# at a new endpoint:"}
    with reader_in(tmp_path, addresses=addresses, instead=instead) as reader:
        study = init(reader, table("hits.md", "approval_rate"))
        reader.write("old.toml", table("hits.md", "Input.story"))
        batches_of_old_hits(tmp_path)

        def read_the_key(reader: GuideReader) -> None:
            printed = reader.printed["spa mturk serve emulator.sqlite --emulate"]
            reader.environment |= dict(re.findall(r"export (\w+)=(\S+)", printed))

        def do_the_hits(reader: GuideReader) -> None:
            answer_hits(reader, study)

        walk(reader, "hits.md", before={"export MTURK": read_the_key, "spa mturk collect": do_the_hits})
        assert "3 approved" in reader.printed["spa mturk approve my-study/study.toml --yes"]
        site = reader.server(("mturk", "serve"))
        assert site is not None
        assert "Text lab" in httpx2.get(site.url, trust_env=False, follow_redirects=True).text
    assert len((tmp_path / "links.txt").read_text().split()) == 30
    assert pl.read_csv(tmp_path / "tables" / "choices.csv")["winner"].to_list() == ["x", "y"]
