"""What annotators send is collected once and trusted in nothing."""

from __future__ import annotations

import json

import polars as pl
import pytest
from click.testing import CliRunner

from mturk import records
from mturk.answers import render_answers
from spa.cli import main
from spa.importers.mturk.answers import ANSWERS_NAMESPACE
from spa.server.form_progress import FormProgress
from tests.mturk.studies import Bench, answers_to

BOMB = (
    '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    f'<QuestionFormAnswers xmlns="{ANSWERS_NAMESPACE}"><Answer><QuestionIdentifier>q1</QuestionIdentifier>'
    "<FreeText>&b;</FreeText></Answer></QuestionFormAnswers>"
)
ENTITY = BOMB.replace('"aaaaaaaaaa"', 'SYSTEM "file:///etc/passwd"')


def hand_in(bench: Bench, hit_id: str, answer: str) -> str:
    """Let a worker hand in XML of their own making."""
    worker = bench.emulator.workers(1, country="US")[0]
    assignment = bench.emulator.accept(worker, hit_id)
    bench.emulator.do("submit", worker_id=worker, assignment_id=assignment, answer=answer)
    return assignment


def problem_of(bench: Bench, assignment: str) -> str | None:
    with bench.open() as workspace:
        work = records.find_work(workspace.store, assignment)
        assert work is not None
        return work.problem


@pytest.mark.parametrize("answer", [BOMB, ENTITY, "not XML", "<QuestionFormAnswers/>"])
def test_collect_hostile_answer_is_missing(bench: Bench, answer: str) -> None:
    """A hostile answer is kept as missing and not approved unseen."""
    bench.run("publish", "--yes")
    assignment = hand_in(bench, bench.hits()[0]["HITId"], answer)
    assert bench.json("collect")["problems"] == 1
    assert problem_of(bench, assignment)
    told = bench.json("approve", "--yes")
    assert (told["approved"], list(told["left"])) == (0, [assignment])
    with bench.open() as workspace:
        work = records.find_work(workspace.store, assignment)
        assert work is not None
        assert work.answer == answer
        [visit] = workspace.store.visits.of_people("mturk")
        assert workspace.store.visits.payloads(visit.submission_id)[0].body == answer


def test_answers_out_of_range_are_missing_with_their_reasons(bench: Bench) -> None:
    bench.run("publish", "--yes")
    hits = [hit["HITId"] for hit in bench.hits()]
    fields = dict(answers_to(bench.form_of(hits[0])))
    number = next(name for name, value in fields.items() if value == "70")
    wrong = render_answers([*({**fields, number: "7000"}).items(), ("note", "=HYPERLINK()")])
    assignment = hand_in(bench, hits[0], wrong)
    other = hand_in(bench, hits[1], render_answers([*answers_to(bench.form_of(hits[1])).items(), ("extra", "1")]))
    assert bench.json("collect")["problems"] == 2
    told = str(problem_of(bench, assignment))
    assert " answers unusable, 0 of them empty: " in told
    assert "expected a whole number from 0 to 100, got '7000'" in told
    assert "fields that the form does not have" in str(problem_of(bench, other))
    CliRunner().invoke(main, ["export", str(bench.study), "--out", str(bench.study.parent / "tables")])
    rows = pl.read_csv(bench.study.parent / "tables" / "preferences.csv")
    assert rows["preference"].null_count() == 1
    assert bench.json("approve", "--assignment", assignment, "--yes")["approved"] == 1  # by hand, whatever it holds


def test_collect_broken_off_loses_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run broken off while collecting loses and doubles nothing."""
    bench.run("publish", "--yes")
    workers = bench.emulator.workers(3, country="US")
    for hit, worker in zip(bench.hits(), workers, strict=True):
        bench.answer(hit["HITId"], worker)
    from mturk import collecting

    real = collecting.exclude
    calls = []

    def dying(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(collecting, "exclude", dying)
    assert bench.run_any("collect") != 0
    assert bench.json("collect") | {"hits": 0} == bench.json("collect") | {"hits": 0, "new": 1, "excluded": 2}
    with bench.open() as workspace:
        assert len(list(workspace.store.submissions())) == 3
        assert all(work.excluded for work in records.all_works(workspace.store, bench.emulator.url))


def test_whoever_took_part_sees_no_other_hit_of_the_family(bench: Bench) -> None:
    bench.run("publish", "--yes")
    worker = bench.emulator.workers(1, country="US")[0]
    bench.answer(bench.hits()[0]["HITId"], worker)
    assert len(bench.emulator.do("offers", worker_id=worker)["offers"]) == 1  # one group, not collected yet
    bench.run("collect")
    assert bench.emulator.do("offers", worker_id=worker)["offers"] == []


def test_one_who_was_quicker_than_the_exclusion_is_kept_and_told(bench: Bench) -> None:
    bench.run("publish", "--yes")
    worker = bench.emulator.workers(1, country="US")[0]
    done = [bench.answer(hit["HITId"], worker) for hit in bench.hits()[:2]]
    assert bench.json("collect")["problems"] == 1
    told = [problem_of(bench, one) for one in done]
    assert sum(one is not None and "submitted another HIT" in one for one in told) == 1


def test_reviews_at_the_endpoint_are_seen(bench: Bench) -> None:
    """Approved by itself, rejected by hand and taken back: the store follows."""
    bench.run("publish", "--yes")
    workers = bench.emulator.workers(2, country="US")
    done = [bench.answer(hit["HITId"], worker) for hit, worker in zip(bench.hits(), workers, strict=False)]
    bench.run("collect")
    assert "name each submission" in bench.run("reject", "--reason", "Every answer is the same.", code=1).stderr
    assert "10 to 1024 characters" in bench.run("reject", "--assignment", done[0], "--reason", "bad", code=1).stderr
    rejected = ("reject", "--assignment", done[0], "--reason", "Every answer is the same.", "--yes")
    assert bench.json(*rejected)["rejected"] == 1
    assert bench.json(*rejected)["rejected"] == 0
    assert "add --override" in bench.run("approve", "--assignment", done[0], "--yes", code=1).stderr
    assert bench.json("approve", "--assignment", done[0], "--override", "--yes")["approved"] == 1
    assert "cannot be taken back" in bench.run(*rejected, code=1).stderr
    bench.emulator.advance(169 * 3600)
    assert bench.json("collect")["changed"] >= 1
    assert bench.json("status")["collected"] == {"Approved": 2}


def test_collect_rejected_submission_leaves_analysis(bench: Bench) -> None:
    """A rejected submission leaves the analysis with a line until the rejection is taken back."""
    bench.run("publish", "--yes")
    workers = bench.emulator.workers(3, country="US")
    done = [bench.answer(hit["HITId"], worker) for hit, worker in zip(bench.hits(), workers, strict=True)]

    def excluded() -> list[tuple[str, str]]:
        told = CliRunner().invoke(main, ["export", str(bench.study), "--out", str(bench.study.parent / "tables")])
        assert told.exit_code == 0, told.output
        rows = pl.read_csv(bench.study.parent / "tables" / "exclusions.csv")
        assert rows["assignment_id"].n_unique() == rows.height
        return list(rows.select("rule", "evidence").iter_rows())

    bench.run("collect")
    assert excluded() == []
    bench.run("reject", "--assignment", done[0], "--reason", "Every answer is the same.", "--yes")
    line = ("review", "rejected by the requester: Every answer is the same.")
    assert excluded() == [line]
    bench.emulator.client.reject_assignment(AssignmentId=done[1], RequesterFeedback="Elsewhere.")
    for _ in range(2):
        bench.run("collect")
        assert sorted(excluded()) == [("review", "rejected by the requester: Elsewhere."), line]
    bench.run("approve", "--assignment", done[0], "--override", "--yes")
    assert excluded() == [("review", "rejected by the requester: Elsewhere.")]
    kept = ("--assignment", done[0], "--reason", "It is approved by now.", "--yes")
    assert "cannot be taken back" in bench.run("reject", *kept, code=1).stderr


def test_one_command_of_the_bridge_runs_at_a_time(bench: Bench) -> None:
    from spa.responses.run_lock import exclusive_run

    with bench.open() as workspace, exclusive_run(workspace.store.name, "mturk", holder="bridge"):
        assert "is running on this store already" in bench.run("publish", "--yes", code=1).stderr
    done = bench.run("publish", "--yes", "--json")
    assert json.loads(done.stdout)["made"]
    assert "balance: $" in done.stderr  # what is about to be paid stands before it is, with --json too


def exported(bench: Bench) -> pl.DataFrame:
    """Return the exported table of reading."""
    folder = bench.study.parent / "tables"
    assert CliRunner().invoke(main, ["export", str(bench.study), "--out", str(folder)]).exit_code == 0
    return pl.read_csv(folder / "reading.csv")


def test_collect_reading_evidence(bench: Bench) -> None:
    """Evidence of reading becomes rows and the submission can be shown and forgotten."""
    bench.run("publish", "--yes")
    hits = [hit["HITId"] for hit in bench.hits()]
    form = bench.form_of(hits[0])
    names = list(dict.fromkeys(one.exhibit_id for page in form.pages for one in page.new_outputs))
    outputs = {name: [place, 10.0 + place, 0.5] for place, name in enumerate(names[:-1])}
    first, second = bench.emulator.workers(2, country="US")
    bench.answer(hits[0], first, reading=json.dumps({"seconds": 500.0, "outputs": outputs}))
    hostile = bench.answer(hits[1], second, reading='{"seconds": -1, "outputs": {}}')
    assert bench.json("collect")["problems"] == 1
    assert "evidence of reading" in str(problem_of(bench, hostile))
    rows = exported(bench).filter(pl.col("system").is_not_null())
    measured = {(row["first_seen"], row["seconds"], row["scrolled"]) for row in rows.iter_rows(named=True)}
    assert measured == {tuple(values) for values in outputs.values()} | {(None, 0.0, 0.0)}  # the last never on screen
    assert rows["page_seconds"].unique().to_list() == [500.0]
    with bench.open() as workspace:
        shown, _ = workspace.store.visits.of_people("mturk")
        form = workspace.form(shown.assignment_id)
        progress = FormProgress.from_payloads(form, shown, workspace.store.visits.payloads(shown.submission_id))
        given = {name: text for page in form.pages for name, text in progress.fields(page).items()}
        assert given.items() >= answers_to(form).items()
    CliRunner().invoke(main, ["forget", str(bench.study), "--person", first, "--yes"], catch_exceptions=False)
    with bench.open() as workspace:
        assert not any("seconds" in each.body for each in workspace.store.visits.payloads(shown.submission_id))


def test_xml_that_cannot_be_read_can_be_forgotten(bench: Bench) -> None:
    bench.run("publish", "--yes")
    hand_in(bench, bench.hits()[0]["HITId"], BOMB)
    bench.run("collect")
    with bench.open() as workspace:
        [visit] = workspace.store.visits.of_people("mturk")
    told = CliRunner().invoke(main, ["forget", str(bench.study), "--submission", visit.submission_id, "--yes"])
    assert told.exit_code == 0, told.output
    with bench.open() as workspace:
        assert [each.body for each in workspace.store.visits.payloads(visit.submission_id)] == ["{}"]
