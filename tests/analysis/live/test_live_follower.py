"""What a server follows of a live study is what the whole store gives, after every step, for every process."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import astuple, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Self

import numpy as np
import pytest
from click.testing import CliRunner
from sqlalchemy import text

from analysis.live import visit_reader
from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.live import LiveProgress
from spa.responses.erasure import forget
from spa.responses.kept_units import keep_units, read_units
from spa.responses.leases import Lease, known_lease
from spa.responses.outcomes import RETURNED, claimed_name
from spa.responses.recounts import RECOUNTED
from spa.responses.visit_ends import confirm_visit
from spa.study.narrowing import CountedUpTo
from tests.analysis import live_history
from tests.analysis.live_history import (
    MINUTES,
    RULES,
    START,
    SURE,
    History,
    changed_assignments,
    check_tally,
    computed,
    follower_of,
    hand_in,
    hands_waiting,
    matrices_of,
)
from tests.postgres import database as database
from tests.postgres import postgres_cluster as postgres_cluster
from tests.postgres import postgres_url as postgres_url
from tests.spa.forks import FORKS, load_before
from tests.spa.small_study import STUDY, write_study

LIVE = f"""{STUDY}
[stopping]
rule = "when_decided"
least = 5
""".replace("likert.identical_pairs = 1\n", "likert.identical_pairs = 0\n").replace("annotators = 6", "annotators = 60")
PAIRS = """
id = "small"
title = "A small study"
seed = 3
outputs = {files = ["outputs.jsonl"], item_text = "item_text"}
systems = [{id = "alpha"}, {id = "beta"}, {id = "gamma"}]
people = {annotators = 60, seconds_per_100_words = 0}

[choices]
per_annotator = 6

[stopping]
rule = "when_decided"
least = 5
"""
COME_AGAIN = LIVE.replace("annotators = 60", "annotators = 60, repeat = true")
MARKS = PAIRS.replace("[choices]\nper_annotator = 6\n", "[spans]\n")
STUDIES = {
    "preferences": LIVE,
    "ratings": f'{LIVE}answers = "ratings"\nmargin = 0.2\n[analysis]\npost_screening = ["p808"]\n',
    "choices": f'{LIVE}answers = "choices"\n',
    "both criteria": f'{LIVE}criteria = ["overall", "meaning"]\n',
    "late decisions": f'{LIVE}criteria = ["overall", "meaning"]\nerror_rate = 0.02\n',
    "open pairs": f'{PAIRS}freed = "open_pairs"\n',
    "best of all": f"{PAIRS}top = 1\nepsilon = 0.2\n",
    "order": f"{PAIRS}order = true\nepsilon = 0.2\n",
    "careless": f"{LIVE}[analysis]\nmax_same_answers = 0.6\nmin_outputs_seen = 0.8\nmax_words_per_minute = 1500\n"
    "max_reading_speed = 3\n",
    "order of three": PAIRS.replace("[choices]\nper_annotator = 6\n", "[ranking]\nsize = 3\n"),
    "gambles": f'{LIVE}answers = "choices"\n[gamble]\nrepeats = 1\n[analysis]\nmax_same_answers = 0.7\n',
    "marked errors": f"{MARKS}[analysis]\nmax_same_answers = 0.5\n",
    "errors rated and marked": MARKS.replace("[spans]\n", "[spans]\n[likert]\noverall = false\n").replace(
        'title = "A small study"', 'title = "A small study"\ncriteria = [{id = "errors", name = "errors"}]'
    ),
    "as completed": f'{LIVE}counted = "completed"\n',
    "as completed, again": f'{COME_AGAIN}counted = "completed"\n[analysis]\nmax_same_answers = 0.6\n',
    "in HITs": LIVE,
    "turns": PAIRS.replace(
        'item_text = "item_text"', 'item_text = "item_text", kind = "conversation", unit = "turn"'
    ).replace("[choices]\nper_annotator = 6\n", "[likert]\n[design]\nitems = 2\n")
    + "[analysis]\nmax_same_answers = 0.5\n",
    "order, as completed": f'{PAIRS}order = true\nepsilon = 0.2\ncounted = "completed"\n',
}

AS_READ = {  # READ_AS, and a digest of what the reader makes of the visits of each history
    "preferences": "1-4356339ed6a0",
    "ratings": "1-fe56e09a6351",
    "choices": "1-8a43412ae295",
    "both criteria": "1-b18cce273022",
    "late decisions": "1-c6488d4735cd",
    "open pairs": "1-392ce16f9876",
    "best of all": "1-dcc68e942fdb",
    "order": "1-7b1732ad063e",
    "careless": "1-6f151f54947a",
    "order of three": "1-44145c489ca8",
    "gambles": "1-95ab12eabb32",
    "marked errors": "1-e4da3f51b533",
    "errors rated and marked": "1-ab31f1d1c01b",
    "as completed": "1-ef2a1330e73f",
    "as completed, again": "1-e569e8abfab9",
    "in HITs": "1-c684654e36fc",
    "turns": "1-01c63c56cc0e",
    "order, as completed": "1-50fab85f43f0",
}
READ_OTHERWISE = (
    "{kind}: the reader makes {got} of the visits of this history, not {expected}. If visits are read otherwise, raise "
    "READ_AS in analysis/live/visit_reader.py, so that servers read anew what they kept; then, or if only the history "
    "is another, write the new digest into AS_READ"
)
NARROWED = ("open pairs", "best of all", "order")  # in forms that somebody has begun


def built(folder: Path, kind: str, target: str | None = None, *, least: int = 5) -> Path:
    """Build a study that ends no earlier than with so many people, into its own store or another."""
    path = write_study(folder, STUDIES[kind].replace("least = 5", f"least = {least}"))
    if kind == "turns":
        _talk(folder / "outputs.jsonl")
    result = CliRunner().invoke(main, ["build", str(path), *(() if target is None else ("--store", target))])
    assert result.exit_code == 0, result.output
    return path


def _talk(outputs: Path) -> None:
    """Make conversations of four to six turns of outputs."""
    rows = [json.loads(line) for line in outputs.read_text().splitlines()]
    for row in rows:
        asked, said = {"role": "user", "content": "Go on."}, {"role": "assistant", "content": row["output"]}
        row["output"] = [asked, said] * (4 + int(row["item_id"][1:]) % 3)
    outputs.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(autouse=True)
def _kept_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit_reader, "KEPT_AT_ONCE", 3)


def change_kept(workspace: Workspace, change: str) -> int:
    """Change what is kept of visits by a statement of SQL; return in how many rows."""
    with workspace.store.transaction() as connection:
        return connection.execute(text(change)).rowcount


SPOILT = """{"asked": true, "excluded": true, "values": null, "dealt": null, "is_unit": true}"""
OTHERWISE = f"UPDATE visit_units SET record = '{SPOILT}'".replace(": ", r"\: ")
CHANGES = {  # of what is kept, by the step: all lost; some read by another release; all
    14: "DELETE FROM visit_units",
    24: f"{OTHERWISE}, version = 'other' WHERE submission_id < '8'",
    34: f"{OTHERWISE}, version = 'other'",
}


def check_history(workspace: Workspace, kind: str, *, steps: int) -> None:
    """Compare what is followed with what the store gives as a whole, after every step of a random history.

    Now and then by who starts at that moment, too: all others may be killed then, as nothing is written at an end.
    """
    history = History(workspace, np.random.default_rng(sorted(STUDIES).index(kind)), in_hits=kind == "in HITs")
    counted = 0
    for number in range(steps):
        act = history.step(SURE.get(number))
        found = history.live.refresh()
        matrices = matrices_of(workspace, history.now)
        assert found == computed(workspace, matrices), act
        check_tally(workspace, history.live, matrices)
        if number % 5 == 4:
            if number in CHANGES:
                change_kept(workspace, CHANGES[number])
            anew = LiveProgress(workspace.study, workspace.store, "human", clock=lambda: history.now)
            assert anew.refresh() == found, act
            check_tally(workspace, anew, matrices)
        if found is not None and found.next_pairs and not found.enough:
            each, pairs = workspace.study.items_per_annotator, [list(astuple(pair)) for pair in found.next_pairs]
            hands = [pairs[start : start + each] for start in range(0, len(pairs), each)]
            waiting = hands_waiting(workspace)  # the first of them were taken since
            assert any(waiting == hands[taken : taken + len(waiting)] for taken in range(len(hands))), act
        counted = max(counted, 0 if found is None else found.units)
    assert counted > steps // 10
    begun = {visit.assignment_id for visit in workspace.store.visits.of_people()}
    assert kind not in NARROWED or begun & {row[0] for row in changed_assignments(workspace)}


def digest_of_readings(workspace: Workspace) -> str:
    """Return a digest of what the reader makes of each completed visit, in the order in which they began."""
    reader, digest = visit_reader.VisitReader(workspace.study, workspace.store, "human"), sha256()
    visits = [visit for visit in workspace.store.visits.of_people() if visit.completed]
    with workspace.store.reading() as connection:
        for visit in visits:
            read = reader.one(connection, visit)
            values = () if read.unit.values is None else read.unit.values.tolist()
            dealt = None if read.dealt is None else [astuple(pair) for pair in read.dealt]
            said = read.unit.asked, read.unit.excluded, [f"{value:.9g}" for value in values], dealt
            digest.update(json.dumps([*said, read.assignment_id is None]).encode())
    return f"{visit_reader.READ_AS}-{digest.hexdigest()[:12]}"


@pytest.mark.parametrize("kind", STUDIES)
def test_live_follower_histories(tmp_path: Path, kind: str) -> None:
    """What is followed is what the store gives, whatever decides and however people come, leave and are forgotten.

    And a visit is read as it was when ``READ_AS`` was raised last, of which servers have kept what came of it.
    """
    with open_workspace(built(tmp_path, kind)) as workspace:
        check_history(workspace, kind, steps=45)
        got, expected = digest_of_readings(workspace), AS_READ[kind]
    assert got == expected, READ_OTHERWISE.format(kind=kind, got=got, expected=expected)


@pytest.mark.parametrize("kind", ["preferences", "ratings", "open pairs", "as completed, again"])
def test_live_follower_on_postgresql(tmp_path: Path, postgres_url: str, kind: str) -> None:
    """So it is on PostgreSQL."""
    with open_workspace(built(tmp_path, kind, postgres_url), postgres_url) as workspace:
        check_history(workspace, kind, steps=45)


def test_what_a_visit_adds_is_kept(tmp_path: Path) -> None:
    """Who starts takes it up; not once what was sent is deleted, nor where that was before, nor by another plan."""
    path = write_study(tmp_path, f"{LIVE}[analysis]\nmin_outputs_seen = 0.8\nmax_words_per_minute = 1500\n")
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    with open_workspace(path) as workspace:
        store, rng, leases = workspace.store, np.random.default_rng(0), []
        for number in range(12):
            admit = partial(store.visits.admit, source="link", minutes_allowed=MINUTES, rules=RULES, now=START)
            leases.append(admit(person=f"p{number}", external_id=f"p{number}"))
            hand_in(workspace, leases[-1], rng, now=START + 60)

        def followed() -> LiveProgress:
            live = LiveProgress(workspace.study, store, "human", clock=lambda: START + 61)
            live.refresh()
            return live

        first = followed()
        version = follower_of(first)._reader._version
        with store.reading() as connection:
            before = read_units(connection, version)
        assert before.keys() == {lease.submission_id for lease in leases}
        hurried = next(name for name, record in before.items() if json.loads(record)["excluded"])
        delete = partial(forget, store, person=None, submission=hurried, forms=workspace.form, with_answers=False)
        delete(apply=True)  # with the evidence of reading
        assert not keep_units(store, before, version, recounts=0)  # as a process would that read them before
        with store.reading() as connection:
            assert read_units(connection, version) == {name: before[name] for name in before if name != hurried}
        again = followed()
        check_tally(workspace, again, matrices_of(workspace, START + 61))
        excluded = [follower_of(live).tally.excluded for live in (first, again)]
        assert excluded[0] - excluded[1] == 1
        assert change_kept(workspace, OTHERWISE) == 11
        assert follower_of(followed()).tally.excluded == 11  # by what is kept
    path.write_text(path.read_text().replace("max_words_per_minute = 1500", "max_words_per_minute = 1e6"))
    with open_workspace(path) as workspace:
        changed = LiveProgress(workspace.study, workspace.store, "human", clock=lambda: START + 61)
        changed.refresh()
        check_tally(workspace, changed, matrices_of(workspace, START + 61))


class Answering:
    """A process that admits people to a study, one for each word that it is sent, and lets them answer."""

    def __init__(self, path: Path, target: str, seed: int, people: int) -> None:
        load_before(live_history.__name__)
        self.line, inside = FORKS.Pipe()
        self.process = FORKS.Process(target=live_history.keep_answering, args=(path, target, seed, people, inside))
        self.process.start()
        inside.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.line.close()
        self.process.join()

    def go(self, people: int = 1) -> None:
        """Let more people come, if it still runs."""
        with suppress(BrokenPipeError):
            for _ in range(people):
                self.line.send("go")

    def heard(self, lines: list[str]) -> bool:
        """Keep the next line that it says; tell whether there was one."""
        try:
            lines.append(self.line.recv())
        except (EOFError, ConnectionError):  # ended, the latter with words unread
            return False
        return True


@pytest.mark.parametrize("kind", ["late decisions", "open pairs", "as completed"])
def test_live_followers_of_two_processes(tmp_path: Path, database: str, kind: str) -> None:
    """Two servers at once find the same after the same visits, and what the store gives as a whole."""
    path = built(tmp_path, kind, database, least=10)  # whoever comes first, not decided before
    said: list[list[str]] = [[], []]
    with Answering(path, database, 1, 40) as first, Answering(path, database, 2, 40) as second:
        running = [(first, said[0]), (second, said[1])]
        while running:  # both at once, and neither ahead of the other by more than one
            for server, _ in running:
                server.go()
            running = [(server, lines) for server, lines in running if server.heard(lines)]
    assert (first.process.exitcode, second.process.exitcode) == (0, 0)
    found: dict[int, list[object]] = {}
    for line in (*said[0], *said[1]):
        if decision := json.loads(line):
            visits, *decided = decision
            assert found.setdefault(visits, decided) == decided
    assert min(len(lines) - lines.count("null") for lines in said) > 1
    assert max(found) > 8
    with open_workspace(path, database) as workspace:
        live = LiveProgress(workspace.study, workspace.store, "human")
        last = live.refresh()
        assert last is not None
        matrices = matrices_of(workspace, follower_of(live).now)
        assert last == computed(workspace, matrices)
        check_tally(workspace, live, matrices)
        assert found[max(found)][0] <= last.units
        if kind == "late decisions" and last.decided and not last.enough:
            left_out = json.dumps(sorted(sorted(pair) for pair in last.decided))
            begun = {visit.assignment_id for visit in workspace.store.visits.of_people()}
            free = {row[1] for row in changed_assignments(workspace) if row[0] not in begun}
            assert free == {left_out}


@pytest.mark.parametrize("lines", [1, 4, 9, 15])
def test_a_killed_follower_is_followed_by_another(tmp_path: Path, lines: int) -> None:
    """A server killed at any moment leaves a store from which the next one finds the same as the whole."""
    path = built(tmp_path, "open pairs")
    target = str(path.with_suffix(".sqlite"))
    said: list[str] = []
    with Answering(path, target, lines, 60) as server:
        server.go(60)
        while len(said) - said.count("null") < lines and server.heard(said):
            pass  # it may have decided and ended before
        server.process.kill()
    with open_workspace(path) as workspace:
        live = LiveProgress(workspace.study, workspace.store, "human")
        found = live.refresh()
        assert found is not None
        matrices = matrices_of(workspace, follower_of(live).now)
        assert found == computed(workspace, matrices)
        check_tally(workspace, live, matrices)
        again = changed_assignments(workspace)
        assert LiveProgress(workspace.study, workspace.store, "human").refresh() == found
        assert changed_assignments(workspace) == again


def test_a_process_that_knows_less_changes_no_assignment(tmp_path: Path) -> None:
    """What later visits left out stays so when a process asks for less that has counted fewer of them."""
    with open_workspace(built(tmp_path, "preferences")) as workspace:
        assignments = workspace.store.assignments
        one, two = ("beta", "alpha"), ("gamma", "beta")
        later = CountedUpTo(group="human", recounts=1, visits=9)
        assert assignments.leave_out([one, two], counted=later) == 60
        both = changed_assignments(workspace)
        assert assignments.leave_out([one], counted=replace(later, visits=8)) == 0
        assert assignments.leave_out([one], counted=replace(later, recounts=0, visits=20)) == 0
        assert changed_assignments(workspace) == both
        assert assignments.leave_out([one], counted=replace(later, recounts=2, visits=1)) == 60
        assert assignments.leave_out([two], counted=replace(later, group="simulated", visits=1)) == 60
        assert assignments.leave_out([two], counted=replace(later, group="simulated", visits=2)) == 0  # as it is


def test_a_form_that_somebody_began_and_left_stays(tmp_path: Path) -> None:
    """What was shown to a person never changes, whoever answers it in the end."""
    with open_workspace(built(tmp_path, "preferences")) as workspace:
        visits, assignments = workspace.store.visits, workspace.store.assignments
        visit = visits.admit(source="link", person="p", minutes_allowed=MINUTES, rules=RULES, now=START)
        assert visits.release(visit.submission_id, RETURNED, now=START + 5)
        before = assignments.draw(visit.assignment_id)
        assert assignments.leave_out([("beta", "alpha")]) == 59
        assert assignments.draw(visit.assignment_id) == before


def test_what_undoes_a_count_is_noted(tmp_path: Path) -> None:
    """Each event that changes what was known for good of a visit raises the mark of recounts, and no other does."""
    with open_workspace(built(tmp_path, "preferences")) as workspace:
        visits, rng = workspace.store.visits, np.random.default_rng(1)

        def mark() -> int:
            return int(workspace.store.meta(RECOUNTED) or 0)

        def admit(person: str, at: float, minutes: float | None = MINUTES) -> Lease:
            return visits.admit(
                source="link", person=person, external_id=person, minutes_allowed=minutes, rules=RULES, now=at
            )

        hand_in(workspace, first := admit("first", START), rng, now=START + 60)
        hand_in(workspace, admit("second", START), rng, now=START + 60 * MINUTES - 61)
        assert visits.release(first.submission_id, RETURNED, now=START + 61, finished=True)
        assert mark() == 0
        hand_in(workspace, admit("last minute", START), rng, now=START + 60 * MINUTES - 59)
        assert mark() == 1
        hand_in(workspace, admit("too late", START), rng, now=START + 60 * MINUTES + 1)
        assert mark() == 1
        hand_in(workspace, other := admit("given back", START), rng, now=START + 60)
        assert visits.release(other.submission_id, RETURNED, now=START + 59, finished=True)
        assert mark() == 2
        admit("slow", START)
        visits.release_overdue(START + 241)
        assert not admit("slow", START + 242).released
        assert mark() == 2
        admit("any time", START, None)
        visits.release_overdue(START + 241)
        assert not admit("any time", START + 242, None).released
        assert mark() == 3
        arguments = {"person": None, "forms": workspace.form, "with_answers": False}
        forget(workspace.store, submission=first.submission_id, **arguments, apply=False)
        assert mark() == 3
        forget(workspace.store, submission=first.submission_id, **arguments, apply=True)
        assert mark() == 4


def test_who_was_passed_over_never_counts(tmp_path: Path) -> None:
    """A late visit that a platform seats again and that is given back then is late as before."""
    with open_workspace(built(tmp_path, "preferences")) as workspace:
        visits, rng = workspace.store.visits, np.random.default_rng(1)
        late = visits.admit(
            source="link", person="late", external_id="late", minutes_allowed=MINUTES, rules=RULES, now=START
        )
        visits.release_overdue(START + 241)
        hand_in(workspace, late, rng, now=START + 300)
        assert visits.begun_order(START + 301)["human"].counted == ()
        assert visits.seat_again(late.submission_id)
        assert visits.release(late.submission_id, RETURNED, now=START + 400, finished=True)
        assert visits.begun_order(START + 401)["human"].counted == ()


def test_a_visit_taken_away_from_its_person_is_recounted(tmp_path: Path) -> None:
    """Completed answers that a platform says are somebody else's leave what was followed."""
    with open_workspace(built(tmp_path, "preferences")) as workspace:
        visits, rng, now = workspace.store.visits, np.random.default_rng(1), [START]
        live = LiveProgress(workspace.study, workspace.store, "human", clock=lambda: now[0])
        admit = partial(visits.admit, source="panel", external_id="v", minutes_allowed=MINUTES, rules=RULES)
        lease = admit(person="impostor", now=START)
        hand_in(workspace, lease, rng, now=START + 60)
        now[0] = START + 61
        found = live.refresh()
        assert found is not None
        assert follower_of(live).tally.visits == 1
        admit(person="real", displaces=[lease.submission_id], now=START + 62)
        assert live.refresh() is None
        assert computed(workspace, matrices_of(workspace, now[0])) is None


def test_completed_answers_count_once_confirmed(tmp_path: Path) -> None:
    """People counted as they complete: not by a visit that is only claimed, and where it ended once it is confirmed."""
    with open_workspace(built(tmp_path, "as completed")) as workspace:
        visits, rng = workspace.store.visits, np.random.default_rng(1)
        live = LiveProgress(workspace.study, workspace.store, "human", clock=lambda: START)
        admit = partial(visits.admit, source="mturk", minutes_allowed=MINUTES, rules=RULES, now=START)
        claimed = admit(person="first", external_id=claimed_name("first"))
        hand_in(workspace, claimed, rng, now=START + 60)
        assert live.refresh() is None
        for number in range(3):
            hand_in(workspace, admit(person=f"p{number}", external_id=f"v{number}"), rng, now=START + 70 + number)
        live.refresh()
        check_tally(workspace, live, before := matrices_of(workspace, START))
        with workspace.store.transaction() as connection:
            confirm_visit(connection, known_lease(connection, claimed.submission_id), "v first")
        found = live.refresh()
        after = matrices_of(workspace, START)
        check_tally(workspace, live, after)
        assert found == computed(workspace, after)
        assert after[0].units[1:] == before[0].units
