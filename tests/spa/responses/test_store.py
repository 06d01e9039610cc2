"""The store: leases, what survives a killed process, and what is said when it cannot be used."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import OperationalError

from spa.commands.workspace import with_store
from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.errors import ResponseError
from spa.records.assignment import Assignment, BlindingKey, Block, ShownOutput
from spa.records.form import CheckTarget, ConfirmationTarget, Question, ScreeningTarget, Target
from spa.records.submission import Response
from spa.responses.admission import NoneLeft
from spa.responses.answers import parse_answer
from spa.responses.database import CHUNK, database_errors, parse_target
from spa.responses.leases import Lease
from spa.responses.store import Store
from spa.widgets import NumberAnswer
from tests.spa.forks import FORKS, keep_writing, load_before
from tests.spa.hand_made import ASKED
from tests.spa.store_steps import complete, has_token, lease_assignment, lease_for_rater, save_payload
from tests.spa.store_steps import submission_of as submission_of

LABELS = ("A", "B")


def draws(count: int, *, salt: str = "") -> Iterator[tuple[Assignment, BlindingKey]]:
    """Yield assignments of two labels; the same first ones for any count."""
    for number in range(count):
        shown = tuple(ShownOutput(label=label, item_id=f"i{number}{salt}", sample=1) for label in LABELS)
        assignment = Assignment(
            assignment_id=f"a{number + 1:05}",
            number=number,
            blocks=(Block(exposure=1, labels=LABELS, shown=shown),),
        )
        yield (
            assignment,
            BlindingKey(
                assignment_id=assignment.assignment_id, systems={"A": "s1", "B": "s2"}, blocks={"A": 0, "B": 0}
            ),
        )


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """Return a store with five assignments."""
    with Store.create(database) as built:
        built.assignments.save("fingerprint", draws(5), seed=3)
        yield built


def lease(store: Store, person: str) -> Lease:
    return lease_assignment(store, store.keyed(person), source="link", annotator_kind="human")


def test_assignments_keys_and_tokens_come_back(store: Store) -> None:
    assert [(each, store.assignments.key(each.assignment_id)) for each in store.assignments] == list(draws(5))
    assert [key for _, key in draws(5)] == list(store.assignments.keys())
    assert store.assignments.draw("a00003")[0].number == 2
    assert len(set(store.tokens())) == 5
    token = store.new_token()
    assert has_token(store, token)
    assert not has_token(store, "nobody")
    assert not has_token(store, "\ud800\x00")
    assert token in store.tokens()
    assert token not in store.tokens(personal=True)
    assert store.meta("seed") == "3"
    assert store.meta("nothing") is None


def test_the_same_person_has_another_id_in_another_store(store: Store, tmp_path: Path) -> None:
    with Store.create(tmp_path / "other.sqlite") as other:
        assert store.keyed("someone") == store.keyed("someone")
        assert store.keyed("someone") != other.keyed("someone")
        assert "someone" not in store.keyed("someone")


def test_building_again_changes_nothing_and_more_goes_on(store: Store) -> None:
    tokens = store.tokens()
    assert store.assignments.save("fingerprint", draws(5), seed=3) == 0
    assert store.assignments.save("fingerprint", draws(3)) == 0
    first = lease(store, "someone")
    assert store.assignments.save("fingerprint", draws(8), seed=3) == 3
    assert list(store.assignments) == [assignment for assignment, _ in draws(8)]
    assert store.tokens()[:5] == tokens
    assert lease(store, "someone") == first


def test_store_refuses_another_study_seed_or_draw(store: Store) -> None:
    """Another study, seed or draw is refused and changes nothing."""
    with pytest.raises(ResponseError, match="another version of the study"):
        store.assignments.save("changed", draws(9))
    with pytest.raises(ResponseError, match="seed 3, got seed 4"):
        store.assignments.save("fingerprint", draws(9), seed=4)
    with pytest.raises(ResponseError, match="a00001 of this draw differs"):
        store.assignments.save("fingerprint", draws(9, salt="x"))
    assert len(store.assignments) == 5
    assert store.fingerprint == "fingerprint"


def test_a_build_that_fails_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[tuple[Assignment, BlindingKey]]:
        yield from draws(700)
        raise ResponseError("no more items")

    with pytest.raises(ResponseError, match="no more items"), Store.being_created(tmp_path / "study.sqlite") as store:
        store.assignments.save("fingerprint", broken())
    assert list(tmp_path.iterdir()) == []


def test_people_share_no_assignment_and_come_back_to_their_own(store: Store) -> None:
    given_out = [lease(store, f"person {number}") for number in range(5)]
    assert [each.assignment_id for each in given_out] == [f"a{number:05}" for number in range(1, 6)]
    assert [lease(store, f"person {number}") for number in range(5)] == given_out
    with pytest.raises(NoneLeft, match="every assignment has been given out"):
        lease(store, "one too many")
    assert list(store.visits.leases()) == given_out


def test_raters_answer_the_assignments_of_people(store: Store) -> None:
    person = lease(store, "someone")
    first = lease_for_rater(store, "gpt", person.assignment_id, ASKED)
    assert first.submission_id == "gpt/1/a00001"
    assert (first.annotator_kind, first.source) == ("llm", "rater")
    assert lease_for_rater(store, "gpt", "a00001", ASKED) == first
    assert lease_for_rater(store, "llama", "a00001", ASKED).submission_id == "llama/1/a00001"
    assert lease(store, "another").assignment_id == "a00002"


def test_rater_annotators_by_variant_and_repeat(store: Store) -> None:
    """A rater is another annotator in each variant and repeat and the same settings in each."""
    explained = replace(ASKED, variant="explain", repeat=2, form="variant")
    names = [lease_for_rater(store, "gpt", "a00001", asked).submission_id for asked in (ASKED, explained)]
    assert names == ["gpt/1/a00001", "gpt/explain/2/a00001"]
    with pytest.raises(ResponseError, match="rater 'gpt' has answered a00001 with another model or other settings"):
        lease_for_rater(store, "gpt", "a00001", replace(ASKED, fingerprint="g"))
    with pytest.raises(ResponseError, match="variant 'explain' of 'gpt' has answered"):
        lease_for_rater(store, "gpt", "a00001", replace(explained, fingerprint="g"))


def test_store_keeps_live_rules_of_its_release(tmp_path: Path) -> None:
    """A store keeps the live rules of the release that built it."""
    with Store.create(tmp_path / "new.sqlite") as store:
        store.assignments.save("f", draws(2))
        assert store.live_rules == 2
    path = tmp_path / "old.sqlite"
    with Store.create(path) as store:
        store.assignments.save("f", draws(2))
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("DELETE FROM meta WHERE name = 'live_rules'")  # which no store of the last release had
    with Store.open(path) as store:
        assert store.live_rules == 1
        assert store.assignments.save("f", draws(4)) == 2
        assert store.live_rules == 1


def test_twenty_people_at_once_get_twenty_assignments(database: str) -> None:
    """Two stores on one database, as two processes would have, each used by ten threads."""
    with Store.create(database) as one, Store.open(database) as two, ThreadPoolExecutor(20) as threads:
        one.assignments.save("fingerprint", draws(20))

        def come(number: int) -> Lease:
            served = lease((one, two)[number % 2], f"person {number // 2}")
            save_payload((two, one)[number % 2], served.submission_id, "p1", str(number))
            return served

        served = list(threads.map(come, range(40)))  # everybody comes twice
    assert len({each.assignment_id for each in served}) == 20
    assert all(served[number] == served[number + 1] for number in range(0, 40, 2))


def test_payloads_are_kept_verbatim_and_never_replaced(store: Store) -> None:
    visit = lease(store, "someone").submission_id
    bodies = ['{"q1": "70"}', "q1=\x00\ud800\U0001f600 =1+1", "", "x" * 1_000_000, '{"q1": "30"}']
    for body in bodies:
        save_payload(store, visit, "p1", body)
    assert [(payload.page_id, payload.body) for payload in store.visits.payloads(visit)] == [
        ("p1", body) for body in bodies
    ]
    with pytest.raises(ResponseError, match="no submission 'nobody'"):
        save_payload(store, "nobody", "p1", "")


def test_completing_twice_changes_nothing(store: Store) -> None:
    visit = lease(store, "someone")
    target = ScreeningTarget(screening_id="native", eligible=("Yes",))
    first = submission_of(visit, Response(question_id="q1", target=target, value="Yes", raw="Yes"))
    second = submission_of(visit, Response(question_id="q1", target=target, value="No", raw="No"))
    assert complete(store, first, completion_code="FIRST") == "FIRST"
    assert complete(store, second, completion_code="SECOND") == "FIRST"
    assert list(store.submissions()) == [first]
    ended = lease(store, "someone")
    assert (ended.completed, ended.completion_code, ended.seat) == (True, "FIRST", visit.seat)
    assert ended.completed_at is not None


def test_a_submission_must_fit_its_lease(store: Store) -> None:
    visit = lease(store, "someone")
    with pytest.raises(ResponseError, match="was leased for assignment 'a00001'"):
        complete(store, replace(submission_of(visit), assignment_id="a00002"), completion_code="C")
    with pytest.raises(ResponseError, match="no submission"):
        complete(store, replace(submission_of(visit), submission_id="s0"), completion_code="C")
    assert list(store.submissions()) == []


TEXTS = st.text(st.characters(exclude_categories=())) | st.text(st.characters(categories=["Cs"]))
NAMES = st.text(min_size=1, max_size=5)
TARGETS: st.SearchStrategy[Target] = st.one_of(
    st.builds(
        PreferenceTarget,
        label_x=NAMES,
        label_y=NAMES,
        exposure=st.integers(1, 9),
        criterion=NAMES,
        asked_first=st.booleans(),
    ),
    st.builds(
        RatingTarget,
        label=NAMES,
        item_id=NAMES,
        sample=st.integers(1, 9),
        criterion=NAMES,
        elicitation=st.sampled_from(["likert", "continuous", "category"]),
    ),
    st.builds(
        ChoiceTarget,
        label_x=NAMES,
        label_y=NAMES,
        item_id=NAMES,
        sample_x=st.integers(1, 9),
        sample_y=st.integers(1, 9),
        criterion=NAMES,
    ),
    st.builds(CheckTarget, check_id=NAMES, kind=st.sampled_from(["attention", "identical_pair"]), expected=NAMES),
    st.builds(ScreeningTarget, screening_id=NAMES, eligible=st.lists(NAMES, max_size=3).map(tuple)),
    st.builds(ConfirmationTarget, confirmation=st.sampled_from(["consent", "instructions"])),
)
PERCENT = NumberAnswer(low=0, high=100, scale=100, low_text="", high_text="", unit="%")
RAW = (
    TEXTS | st.integers(-5, 105) | st.integers(0, 100).map(str) | st.floats() | st.none() | st.lists(TEXTS, max_size=2)
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payload=st.lists(st.tuples(TARGETS, RAW), max_size=8))
def test_store_round_trip_is_the_identity(store: Store, payload: list[tuple[Target, object]]) -> None:
    """Whatever arrived: null characters, lone surrogates, NaN."""
    visit = lease_for_rater(store, f"rater {time.monotonic_ns()}", "a00001", ASKED)
    answers = [
        parse_answer(Question(question_id=f"q{place}", text="?", answer=PERCENT, target=target), raw)
        for place, (target, raw) in enumerate(payload)
    ]
    handed_in = replace(submission_of(visit, *answers), asked=ASKED)
    complete(store, handed_in, completion_code="rater")
    assert list(store.submissions())[-1] == handed_in


def test_submissions_come_in_order_and_in_chunks(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spa.responses.store.VISITS", 2)
    with Store.create(database) as store:
        store.assignments.save("fingerprint", draws(5))
        handed_in = [submission_of(lease(store, f"person {number}")) for number in range(5)]
        for each in (*handed_in[:2], *handed_in[3:]):
            complete(store, each, completion_code="C")
        assert list(store.submissions()) == [*handed_in[:2], *handed_in[3:]]


def test_what_was_acknowledged_survives_a_kill(database: str) -> None:
    """Five processes are killed while writing; the next finds all that they acknowledged."""
    with Store.create(database) as store:
        store.assignments.save("fingerprint", draws(1))
    chance = random.Random(5)
    acknowledged: list[tuple[str, str]] = []
    load_before()
    for trial in range(5):
        heard, said = FORKS.Pipe(duplex=False)
        writer = FORKS.Process(target=keep_writing, args=(database, f"r{trial}", said))
        writer.start()
        said.close()
        acknowledged += [heard.recv() for _ in range(chance.randint(5, 30))]
        time.sleep(chance.uniform(0, 0.02))  # anywhere between two acknowledgements
        writer.kill()
        with contextlib.suppress(EOFError):  # a last word without its end was not said
            while True:
                acknowledged.append(heard.recv())
        writer.join()
    assert len(acknowledged) > 20
    with Store.open(database) as store:
        completed = {each.submission_id for each in store.submissions()}
        for what, submission_id in acknowledged:
            assert submission_id in completed if what == "complete" else store.visits.payloads(submission_id)
    if Path(database).is_file():
        with contextlib.closing(sqlite3.connect(database)) as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_locked_store_is_told(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    Store.create(path).close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other, Store.open(path, wait=0.05) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ResponseError, match=r"study\.sqlite: .* locked by another program; close"):
            store.new_token()
        other.execute("COMMIT")
        assert has_token(store, store.new_token())


def test_what_is_no_store_is_told(tmp_path: Path) -> None:
    with pytest.raises(ResponseError, match="no such store; run `spa build`"):
        Store.open(tmp_path / "none.sqlite")
    (tmp_path / "text.sqlite").write_text("this is not a database, but it is long enough to be asked about it" * 10)
    with pytest.raises(ResponseError, match="it is not a database"):
        Store.open(tmp_path / "text.sqlite")
    with contextlib.closing(sqlite3.connect(tmp_path / "other.sqlite")) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(ResponseError, match="a database of something else"):
        Store.open(tmp_path / "other.sqlite")
    with pytest.raises(ResponseError, match="nothing has been built"), Store.create(tmp_path / "new.sqlite") as store:
        _ = store.fingerprint
    with pytest.raises(ResponseError, match="expected a new store, but the file exists"):
        Store.create(tmp_path / "new.sqlite")


@pytest.mark.parametrize("name", ["none/s.sqlite", "taken/s.sqlite", "x" * 300])
def test_a_place_where_no_file_can_be_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "taken").write_text("")
    assert not Store.exists(tmp_path / name)
    with pytest.raises(ResponseError, match="cannot be written"):
        Store.create(tmp_path / name)
    with pytest.raises(ResponseError, match="no such store"):
        Store.open(tmp_path / name)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("sqlite://", "kept in memory only"),
        ("nosuch://host/name", "driver of this database is not installed"),
        ("://", "expected a file or an SQLAlchemy URL"),
    ],
)
def test_what_no_database_can_be_found_by_is_told(target: str, said: str) -> None:
    with pytest.raises(ResponseError, match=said):
        Store.open(target)


def test_an_sqlite_url_is_a_file(tmp_path: Path) -> None:
    with Store.create(f"sqlite:///{tmp_path}/a study %41?.sqlite") as store:
        token = store.new_token()
    assert Store.exists(store.name)
    with Store.open(store.name, read_only=True) as store:
        assert store.tokens() == (token,)


AS_NOBODY = """
import os, sys
import sqlalchemy.dialects.sqlite
from spa.commands.workspace import with_store
from spa.errors import ResponseError
from spa.responses.store import Store
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
def attempt(what):
    try:
        print(what())
    except ResponseError as error:
        print(error)
path, folder = sys.argv[1:]
attempt(lambda: Store.open(path, read_only=True).fingerprint)
attempt(lambda: Store.open(path).new_token())
attempt(lambda: Store.create(folder + "/new.sqlite"))
attempt(lambda: Store.create(folder + "/none/new.sqlite"))
"""


def test_a_read_only_file_and_folder_are_told() -> None:
    """Run as a user who may read but not write, since nothing is closed to root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "study.sqlite"
        with Store.create(path) as store:
            store.assignments.save("fingerprint", draws(1))
        path.chmod(0o444)
        folder.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", AS_NOBODY, str(path), name],
            capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3],
        )  # fmt: skip
        folder.chmod(0o755)
        assert os.listdir(folder) == ["study.sqlite"]
    opened, written, created, deep = done.stdout.splitlines()
    assert opened == "fingerprint"
    assert written.startswith(f"{path}: expected a store, but it is read-only; ")
    assert created.startswith(f"{folder}/new.sqlite: cannot be written (Permission denied)")
    assert deep.startswith(f"{folder}/none/new.sqlite: cannot be written (No such file or directory)")


def test_a_disk_that_fails_is_told_with_what_to_do(tmp_path: Path) -> None:
    """A full disk on which not even the log's index has room is an I/O error to SQLite."""
    broken = sqlite3.OperationalError("disk I/O error")
    with pytest.raises(ResponseError) as caught, database_errors("study.sqlite"):
        raise OperationalError("BEGIN", None, broken)
    assert str(caught.value) == (
        "study.sqlite: expected a store, but the disk cannot be read or written; "
        "see that it is there and not full; what was saved is kept"
    )


def test_a_draw_of_several_chunks_is_kept_whole_and_in_order(database: str) -> None:
    drawn = list(draws(2 * CHUNK + 1))
    with Store.create(database) as store:
        assert store.assignments.save("fingerprint", iter(drawn)) == len(drawn)
        assert list(store.assignments) == [assignment for assignment, _ in drawn]
        assert list(store.assignments.keys()) == [key for _, key in drawn]
        assert len(set(store.tokens(personal=True))) == len(drawn)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://spa:SECRET@host/study",
        "postgresql://host/study?user=spa&password=SECRET",
        "postgresql+psycopg://spa@host/study?sslmode=require&PassWord=SECRET&sslpassword=SECRET",
        "postgresql://host/study?p%61ssword=SECRET",
        "postgres sql://host/study?password=SECRET",
        "sqlite://?password=SECRET",
    ],
)
def test_no_password_of_a_databases_url_is_shown(url: str) -> None:
    told = with_store("spa serve study.toml", url)
    with contextlib.suppress(ResponseError):
        told += parse_target(url).name
    with pytest.raises(ResponseError) as refused:
        Store.open(url.replace("@host", "@127.0.0.1:1").replace("//host", "//127.0.0.1:1"))
    told += str(refused.value)
    assert "SECRET" not in told
    assert "***" in told
