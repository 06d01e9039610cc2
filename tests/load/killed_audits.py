"""Kill the commands that run an audit at the borders between store and platform, and count what was done twice.

An audit in waves is played on an emulated Prolific and on emulated HITs, whole: published, each wave opened, approved
and paid a bonus. One *trial* is one ``kill -9`` of a command, before or after any call by which the platform changes,
or any transaction of the store: a wave is drawn and not opened, opened and not noted, a bonus paid and not noted. The
command is then run again. A twin that nobody kills says which waves are to be drawn.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from threading import get_ident
from typing import Any, Protocol

from mturk.idempotent_calls import KIND
from spa.commands.workspace import Workspace, open_workspace
from spa.journal import Journal
from spa.responses.audit_waves import read_waves
from spa.responses.database import Database
from spa.responses.visits import PersonVisit
from tests.audited_study import LIKED, WAVE, audit
from tests.mturk.emulated import emulator
from tests.mturk.studies import STUDY, make_bench
from tests.prolific.conftest import running
from tests.prolific.running_study import Running, running_study
from tests.warm import WarmProcess

DIE_AT = "SPA_TEST_DIE_AT"  # of a command: number of the border, and "before" or "after"
BORDERS = 16  # a command has some ten
READING = ("Get", "List", "GET")  # how operations begin that change nothing
KILLED = -signal.SIGKILL
MOMENTS = ("before", "after")
PEOPLE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended, and what it printed."""

    code: int  # KILLED: killed
    output: str


class Command(Protocol):
    """Runs ``spa`` with some words, and kills it at a border where one is named."""

    def __call__(self, words: Sequence[str], environment: Mapping[str, str], die_at: str | None) -> Ended:
        """Return how it ended."""


def dying_at(number: int, moment: str, die: Callable[[], object]) -> Iterator[tuple[type[Any], str, Any]]:
    """Yield replacements of methods (class, name, method) by which ``die`` is called at a border of this thread."""
    from botocore.client import BaseClient

    from prolific.api.transport import Transport

    borders, thread, transaction = iter(range(1_000_000)), get_ident(), Database.transaction

    @contextmanager
    def border(*, changes: bool = True) -> Iterator[None]:
        here = changes and get_ident() == thread and next(borders) == number
        if here and moment == "before":
            die()
        yield
        if here:
            die()

    def calling(step: Any) -> Any:
        def stepping(client: Any, operation: str, *given: Any, **named: Any) -> Any:
            with border(changes=not operation.startswith(READING)):
                return step(client, operation, *given, **named)

        return stepping

    @contextmanager
    def writing(database: Database) -> Iterator[Any]:
        with border(), transaction(database) as connection:
            yield connection

    yield Transport, "_once", calling(Transport._once)
    yield BaseClient, "_make_api_call", calling(BaseClient._make_api_call)
    yield Database, "transaction", writing


def die_at_a_border() -> None:
    """Have this process kill itself where its environment says so."""
    if DIE_AT in os.environ:
        number, moment = os.environ[DIE_AT].split()
        for owner, name, method in [*dying_at(int(number), moment, lambda: os.kill(os.getpid(), signal.SIGKILL))]:
            setattr(owner, name, method)


def in_process(words: Sequence[str], environment: Mapping[str, str], die_at: str | None) -> Ended:
    """Run a command in a process of its own, which is killed by the system."""
    told = {**os.environ, **environment} | ({} if die_at is None else {DIE_AT: die_at})
    process = WarmProcess(words, environment=told, prepare=die_at_a_border)
    output, _ = process.communicate()
    return Ended(code=process.wait(), output=output)


@dataclass(slots=True, kw_only=True)
class Toll:
    """What came of an audit.

    Attributes
    ----------
    trials : int
        Kills.
    killed : dict of str to int
        These by command.
    published, paid, bonuses : int
        Places, rewards and bonuses.
    twice : int
        Of places, rewards and bonuses those that nothing asked for.
    missing : int
        Of these, those that are not there.
    other_forms : int
        Forms offered that no wave drew, or drawn that were not offered; and waves that the twin drew otherwise.
    unfinished : int
        Calls that the journal does not close.
    """

    platform: str
    trials: int = 0
    killed: dict[str, int] = field(default_factory=dict)
    published: int = 0
    paid: int = 0
    bonuses: int = 0
    twice: int = 0
    missing: int = 0
    other_forms: int = 0
    unfinished: int = 0
    waves: list[Any] = field(default_factory=list)

    def count(self, found: Counter[str], wanted: Counter[str]) -> int:
        """Count what was made beside what should have been, by name; return how many there are."""
        self.twice += (found - wanted).total()
        self.missing += (wanted - found).total()
        return found.total()


@dataclass(slots=True, kw_only=True)
class Killer:
    """Runs commands until one is not killed."""

    command: Command
    rng: Random
    trials: int  # kills still to come
    toll: Toll

    def run(self, words: Sequence[object], environment: Mapping[str, str], *, code: int | None = 0) -> Ended:
        """Run a command, killed now and then, until it ends by itself."""
        typed = [str(word) for word in words]
        while self.trials:
            ended = self.command(typed, environment, f"{self.rng.randrange(BORDERS)} {self.rng.choice(MOMENTS)}")
            if ended.code != KILLED:
                break
            self.trials -= 1
            self.toll.trials += 1
            self.toll.killed[typed[1]] = self.toll.killed.get(typed[1], 0) + 1
        else:
            ended = self.command(typed, environment, None)
        assert code is None or ended.code == code, f"{typed}: {ended.code}, {ended.output}"
        return ended


def play_on_prolific(folder: Path, killer: Killer) -> None:
    """Play an audit on an emulated Prolific; one of the people hands in nothing."""
    toll = killer.toll
    with (
        running(folder / "platform.sqlite") as platform,
        running_study(folder, platform, places=PEOPLE + 1, stopping=audit(PEOPLE)) as study,
    ):

        def spa(name: str, *more: str, code: int | None = 0) -> Ended:
            words = ("prolific", name, study.path, *more)
            return killer.run(words, study.environment, code=code)

        spa("create", "--public-url", study.url)
        spa("publish", "--public-url", study.url, "--accept", "eligible people", "--yes")
        (listed,) = platform.api.get("/api/v1/studies/").json()["results"]
        done, silent = list[str](), list[str]()
        while len(done) < PEOPLE:
            places = platform.api.get(f"/api/v1/studies/{listed['id']}/").json()["total_available_places"]
            came = range(int(places) - len(done) - len(silent))
            assert came, f"after {len(done)} no place was opened"
            for _ in came:
                somebody = study.arrive(listed["id"])
                if len(done) == WAVE + 1 and not silent:
                    platform.people.complete(somebody.submission_id, None)
                    silent.append(somebody.submission_id)
                    continue
                somebody.answer(likes=LIKED)
                somebody.hand_in()
                done.append(somebody.submission_id)
            spa("approve", "--yes")
            spa("advance", "--yes")
            _pay_bonuses(study, folder, spa, done[-len(came) :])
        rows = platform.api.get(f"/api/v1/studies/{listed['id']}/submissions/").json()["results"]
        approved = Counter(str(row["id"]) for row in rows if row["status"] == "APPROVED")
        toll.paid = toll.count(approved, Counter(done))
        bonuses = Counter(str(one["submission_id"]) for one in platform.people.payments())
        toll.bonuses = toll.count(bonuses, Counter(done))
        place = platform.api.get(f"/api/v1/studies/{listed['id']}/").json()["total_available_places"]
        with open_workspace(study.path) as workspace:
            toll.waves = [asdict(wave) for wave in read_waves(workspace.store)]
            drawn = _drawn(workspace)
            toll.published = toll.count(Counter(places=int(place)), Counter(places=len(drawn) + len(silent)))
            answered = Counter(visit.assignment_id for visit in _answered(workspace))
            toll.other_forms += (answered - drawn).total() + (drawn - answered).total()
        toll.unfinished += sum(call["outcome"] == "started" for call in study.json("journal"))


def _pay_bonuses(study: Running, folder: Path, spa: Callable[..., Ended], to: Sequence[str]) -> None:
    """Pay a wave's bonuses; where nobody knows whether they were paid, look at the platform as a person would."""
    file = folder / "bonuses.csv"
    file.write_text("recipient,amount,reason\n" + "".join(f"{one},0.50,for care\n" for one in to))
    before = len(study.emulator.people.payments())
    ended = spa("bonus", "--from", str(file), "--yes", code=None)
    if ended.code:
        assert "nothing was sent again" in ended.output, ended.output
        study.settle_bonuses(file, spa, before)


def play_as_hits(folder: Path, killer: Killer) -> None:
    """Play an audit as HITs that hold their forms; one expires before anybody answers it."""
    toll = killer.toll
    with emulator(folder / "endpoint.sqlite") as endpoint:
        environment = {
            "MTURK_ENDPOINT_URL": endpoint.url,
            "AWS_ACCESS_KEY_ID": endpoint.key.access_key_id,
            "AWS_SECRET_ACCESS_KEY": endpoint.key.secret_access_key,
        }
        bench = make_bench(folder, endpoint, annotators=PEOPLE + 1, text=STUDY + audit(PEOPLE))

        def spa(name: str, *more: str) -> Ended:
            return killer.run(("mturk", name, bench.study, *more), environment)

        workers, done, expired = iter(endpoint.workers(2 * PEOPLE, country="US")), list[str](), list[str]()
        spa("publish", "--yes")
        while len(done) < PEOPLE:
            came = [hit["HITId"] for hit in bench.hits() if hit["NumberOfAssignmentsAvailable"]]
            came = [name for name in came if name not in expired]
            assert came, f"after {len(done)} no HIT was made"
            for name in came:
                if len(done) == WAVE + 1 and not expired:
                    endpoint.client.update_expiration_for_hit(HITId=name, ExpireAt=0)
                    expired.append(name)
                else:
                    done.append(bench.answer(name, next(workers), **bench.preferring(name)))
            spa("advance", "--yes")
            spa("approve", "--yes")
            named = [word for one in done[-len(came) :] for word in ("--assignment", one)]
            spa("bonus", *named, "--amount", "0.50", "--reason", "for care", "--yes")
        ledger = endpoint.control.get("ledger").json()["entries"]
        toll.paid = toll.count(_entries(ledger, "reward"), Counter(done))
        toll.bonuses = toll.count(_entries(ledger, "bonus"), Counter(done))
        offered = Counter(bench.form_of(hit["HITId"]).assignment_id for hit in bench.hits())
        again = Counter(bench.form_of(name).assignment_id for name in expired)
        with bench.open() as workspace:
            toll.waves = [asdict(wave) for wave in read_waves(workspace.store)]
            drawn = _drawn(workspace)
            toll.published = toll.count(offered, drawn + again)
            toll.other_forms += len(set(offered) ^ set(drawn))
            toll.unfinished += len(Journal(workspace.store).unfinished(KIND))


def _entries(ledger: Sequence[Mapping[str, Any]], kind: str) -> Counter[str]:
    return Counter(str(one["assignment_id"]) for one in ledger if one["kind"] == kind)


def _drawn(workspace: Workspace) -> Counter[str]:
    names = workspace.store.assignments.ids()
    return Counter(names[number] for wave in read_waves(workspace.store) for number in wave.drawn)


def _answered(workspace: Workspace) -> Iterator[PersonVisit]:
    return (visit for visit in workspace.store.visits.of_people() if visit.completed and visit.seat is not None)


PLAYS: dict[str, Callable[[Path, Killer], None]] = {"Prolific": play_on_prolific, "HITs": play_as_hits}


def play(platform: str, folder: Path, *, trials: int, seed: int, command: Command = in_process) -> Toll:
    """Play an audit whose commands are killed so often, if they run that often."""
    toll = Toll(platform=platform)
    folder.mkdir()
    PLAYS[platform](folder, Killer(command=command, rng=Random(seed), trials=trials, toll=toll))
    return toll


def main() -> None:
    """Play audits until there were so many trials on each platform, and write the tolls as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.killed_audits", description=__doc__)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--platform", choices=PLAYS, action="append")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for platform in given.platform or PLAYS:
            twin, left, number = play(platform, folder / f"{platform} twin", trials=0, seed=0), given.trials, 0
            while left:
                number += 1
                toll = play(platform, folder / f"{platform} {number}", trials=min(left, 20), seed=given.seed + number)
                left -= toll.trials
                toll.other_forms += toll.waves != twin.waves
                toll.waves = []
                print(json.dumps(asdict(toll)), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
