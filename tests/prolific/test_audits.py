"""An audit on the platform: forms are offered wave by wave, each until it is answered, and none once it is enough."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from click.testing import CliRunner

from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.live import live_states
from tests.audited_study import LIKED, audit
from tests.prolific.conftest import Emulator
from tests.prolific.running_study import Running, running_study


def take_part(study: Running, study_id: str, people: int) -> str:
    """Let people take part who agree; return the last one's name."""
    for _ in range(people):
        somebody = study.arrive(study_id)
        somebody.address = study.url + somebody.address[somebody.address.index("/", 8) :]  # as it is served now
        somebody.answer(likes=LIKED)
        somebody.hand_in()
    return somebody.person


def spa(*arguments: object) -> str:
    result = CliRunner().invoke(main, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output + result.stderr
    return result.output


def test_an_audit_is_played_until_it_is_decided(tmp_path: Path, fresh_emulator: Emulator) -> None:
    """One returns, one is late, one submits nothing, one is forgotten, and the server starts anew in between."""
    serving = partial(running_study, tmp_path, fresh_emulator, places=14, stopping=audit(7))
    people = fresh_emulator.people
    with serving() as study:
        planned = study.spa("plan", "--public-url", study.url).stdout
        assert "ok      places: 14, and assignments for all of them" in planned
        study_id = study.publish()
        first = take_part(study, study_id, 1)
        returned, late = study.arrive(study_id), study.arrive(study_id)
        returned.open()
        people.give_back(returned.submission_id)
        late.open()
        people.advance(minutes=40)
        found = study.json("advance", yes=True)
        assert (found["places"], found["free"], found["opened"], found["reason"]) == (3, 2, 0, "under way")
        take_part(study, study_id, 2)
        assert study.json("advance", yes=True)["opened"] == 3
    with serving() as study:
        people.complete(study.arrive(study_id).submission_id, None)  # without a code, and without answers
        take_part(study, study_id, 2)
        spa("forget", study.path, "--person", first, "--answers", "--yes")
        found = study.json("advance", yes=True)
        assert (found["completed"], found["opened"]) == (6, 2)  # for two forms without answers
        second = take_part(study, study_id, 2)
        assert study.json("advance", yes=True)["opened"] == 3
        take_part(study, study_id, 1)
        found = study.json("advance", "--stop", yes=True)
        assert (found["reason"], found["free"], found["stopped"]) == ("enough", 2, True)
    spa("report", study.path, "--out", tmp_path / "report")
    shown = json.loads((tmp_path / "report" / "results.json").read_text())
    assert shown["headline"]["certainty"].startswith("Decided after 7 annotators; alpha")
    spa("forget", study.path, "--person", second, "--answers", "--yes")
    status = spa("status", study.path)
    assert "6 of 9 forms drawn are answered" in status
    assert "judge has answered 0 of 40 forms" in status
    with open_workspace(study.path) as workspace:  # the answers after the one that was deleted still count
        (state,) = live_states(workspace.study, workspace.store)
    assert [pair.n for pair in state.pairs] == [6, 6]
