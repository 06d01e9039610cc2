"""What the calls to LLMs came to, and reading them a page at a time, on a real run with faults."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.raters.request_log import index_calls, read_calls
from tests.spa.rehearsed import built_example
from tests.spa.scripted_server import Asked, Said, chat, http, middle, scripted

RATER = """
id = "two-ways"
model = "m"
base_url = "URL"
concurrency = 1
variants = [{id = "plain"}, {id = "cold", temperature = 0.1}]
"""


def sometimes(asked: Asked) -> Said:
    if "response_format" not in asked.body:
        return http(chat("ready"))
    return http(chat("I would rather not.")) if asked.number % 5 == 0 else http(middle(asked))


def test_calls_are_counted_and_read_by_rater_and_outcome(tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=6)
    with scripted(sometimes) as served:
        rater = tmp_path / "rater.toml"
        rater.write_text(RATER.replace("URL", served.url))
        done = CliRunner().invoke(main, ["rate", str(study), "--rater", str(rater)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        answers = [asked for asked in served.asked if "q2" in str(asked.body.get("response_format"))]  # no probes
    with open_workspace(study) as workspace:
        index = index_calls(workspace.store)
        assert index.raters == ("two-ways/plain", "two-ways/cold")
        assert sum(count.calls for count in index.counts) == len(answers)
        for rater_id in index.raters:
            numbers = index.of(rater_id)
            assert list(numbers) == sorted(numbers)
            calls = read_calls(workspace.store, numbers)
            assert {call.rater for call in calls} == {rater_id}
            assert [call.begun_at for call in calls] == sorted(call.begun_at for call in calls)
        unreadable = [number for each in index.raters for number in index.numbers.get((each, "unreadable"), ())]
        assert {call.reply_text for call in read_calls(workspace.store, unreadable)} == {"I would rather not."}
        assert read_calls(workspace.store, []) == []
