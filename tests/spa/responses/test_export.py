"""From answers in the store to the tidy tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from spa.cli import main
from spa.commands.export import misleading_alone
from spa.commands.workspace import Workspace, open_workspace
from spa.elicitation.choices import ChoiceTarget
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.errors import ResponseError
from spa.records.analysis import Audit
from spa.records.assignment import Assignment, BlindingKey, Block, ShownOutput
from spa.records.form import CheckTarget, Form, Question, ScreeningTarget, Target
from spa.records.submission import Missing, Response, Submission
from spa.responses.admission import AdmissionRules
from spa.responses.database import VISITS
from spa.responses.export import export_tables
from spa.responses.store import Store
from spa.responses.table_files import table_words, write_tables
from spa.responses.tidy_tables import ASKED as ASKED_COLUMNS
from spa.responses.tidy_tables import MORE, READ, TABLES, Tables, answer_tables
from spa.tables.delimited import read_csv
from tests.spa.hand_made import ASKED
from tests.spa.responses.test_store import draws, submission_of
from tests.spa.small_study import answer_form, raw_answer, write_study
from tests.spa.store_steps import complete, lease_assignment, lease_for_rater, save_payload

HIDDEN = {"A": "poor", "B": "good"}


def build_by_hand(path: Path | str, *, count: int = 1) -> Store:
    """Build a store with assignments of two labels, whose columns stand B, A."""
    store = Store.create(path)

    def draws() -> Iterator[tuple[Assignment, BlindingKey]]:
        for number in range(count):
            name = f"a{number + 1:05}"
            shown = tuple(ShownOutput(label=label, item_id="i1", sample=2) for label in "BA")
            block = Block(exposure=1, labels=("B", "A"), shown=shown)
            yield (
                Assignment(assignment_id=name, number=number, blocks=(block,)),
                BlindingKey(assignment_id=name, systems=HIDDEN, blocks={"A": 0, "B": 0}),
            )

    store.assignments.save("fingerprint", draws())
    return store


def answered(target: Target, value: float | str, raw: str = "") -> Response:
    return Response(question_id="q1", target=target, value=value, raw=raw or str(value))


def missing(target: Target, reason: str = "no answer", raw: str | None = None) -> Missing:
    return Missing(question_id="q1", target=target, reason=reason, raw=raw)


PREFERENCE = PreferenceTarget(label_x="A", label_y="B", exposure=5, criterion="overall", asked_first=True)
REVERSE = replace(PREFERENCE, label_x="B", label_y="A", asked_first=False)
RATING = RatingTarget(label="A", item_id="i1", sample=2, criterion="fluency", elicitation="likert")
CHOICE = ChoiceTarget(label_x="B", label_y="A", item_id="i1", sample_x=2, sample_y=1, criterion="overall")
SCREENING = ScreeningTarget(screening_id="native", eligible=("Yes",))
ATTENTION = CheckTarget(check_id="colour", kind="attention", expected="green")
IDENTICAL = CheckTarget(check_id="i1/meaning", kind="identical_pair", expected="5")


def hand_in(store: Store, person: str, *answers: Response | Missing, kind: str = "human") -> Submission:
    if kind == "llm":
        lease = lease_for_rater(store, person, "a00001", ASKED)
    else:
        lease = lease_assignment(store, person, source="link", annotator_kind="human")
    submission = Submission(
        submission_id=lease.submission_id,
        assignment_id=lease.assignment_id,
        annotator_id=person,
        annotator_kind=lease.annotator_kind,
        source=lease.source,
        answers=answers,
        seconds=30.0,
    )
    complete(store, submission, completion_code="C")
    return submission


def test_every_answer_is_one_unblinded_row(tmp_path: Path) -> None:
    """Worked by hand: A hides "poor" and stands in the second column, B hides "good" and stands in the first."""
    with build_by_hand(tmp_path / "s.sqlite") as store:
        hand_in(
            store,
            "ann",
            answered(PREFERENCE, 0.2, "20"),
            missing(REVERSE, "expected a whole number", "many"),
            answered(RATING, 4.5),
            answered(CHOICE, "tie"),
        )
        tables = export_tables(store)
    who = {
        "annotator_id": "ann",
        "annotator_kind": "human",
        "assignment_id": "a00001",
        **dict.fromkeys([*ASKED_COLUMNS, *READ, "explanation", "missing_level"]),
        "session": 1,
        "visit": "completed",
    }
    asked = {"criterion": "overall", "exposure": 5, "elicitation": "spa"}
    x_y = {"system_x": "poor", "system_y": "good", "label_x": "A", "label_y": "B"}
    y_x = {"system_x": "good", "system_y": "poor", "label_x": "B", "label_y": "A"}
    assert tables.preferences.to_dicts() == [
        {**who, **asked, **x_y, "preference": 0.2, "asked_first": 1, "missing_reason": None},
        {**who, **asked, **y_x, "preference": None, "asked_first": 0, "missing_reason": "expected a whole number"},
    ]
    rated = {"item_id": "i1", "system": "poor", "criterion": "fluency", "score": 4.5, "elicitation": "likert"}
    place = {"sample": 2, "label": "A", "position": 2, "missing_reason": None}
    assert tables.ratings.to_dicts() == [{**who, **rated, **place}]
    chosen = {"item_id": "i1", "criterion": "overall", "winner": "tie", "elicitation": "choice"}
    samples = {"sample_x": 2, "sample_y": 1, "missing_reason": None}
    assert tables.choices.to_dicts() == [{**who, **chosen, **y_x, **samples}]


def test_what_a_reply_was_read_from_stands_beside_its_answer(tmp_path: Path) -> None:
    """The mass of a distribution, whether another reader differs, what a missing answer would have been."""
    sure = replace(answered(RATING, 4.5), raw='{"probabilities": {"4": 0.5, "5": 0.5}, "mass": 0.9, "mean": 4.5}')
    off = replace(missing(PREFERENCE, "ambiguous", "70 or 80"), level="70 or 80", readings_differ=True)
    asked = replace(ASKED, readout="logit")
    with build_by_hand(tmp_path / "s.sqlite") as store:
        lease = lease_for_rater(store, "gpt", "a00001", asked)
        kept = Submission(
            submission_id=lease.submission_id,
            assignment_id="a00001",
            annotator_id="gpt",
            annotator_kind="llm",
            source="rater",
            answers=(replace(sure, readings_differ=False), off),
            asked=asked,
        )
        complete(store, kept, completion_code="rater")
        assert [submission.answers for submission in store.submissions()] == [kept.answers]
        tables = export_tables(store)
    columns = ("mass", "readings_differ", "missing_level")
    assert tables.ratings.select(columns).row(0) == (0.9, 0, None)
    assert tables.preferences.select(columns).row(0) == (None, 1, "70 or 80")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], (None, None, None)),
        ([answered(SCREENING, "Yes")], (1, None, None)),
        ([answered(SCREENING, "No"), missing(ATTENTION, "screened out")], (0, None, None)),
        ([answered(ATTENTION, "green"), answered(IDENTICAL, 5.0)], (None, 0, 2)),
        ([answered(ATTENTION, "table"), answered(IDENTICAL, 4.0)], (None, 2, 2)),
        ([missing(ATTENTION), answered(IDENTICAL, 5.0)], (None, 1, 2)),
        ([missing(ATTENTION, "expected one of", "purple")], (None, 1, 1)),
    ],
)
def test_screening_and_checks_of_people(
    tmp_path: Path, answers: list[Response | Missing], expected: tuple[int | None, ...]
) -> None:
    with build_by_hand(tmp_path / "s.sqlite") as store:
        hand_in(store, "ann", *answers)
        (row,) = export_tables(store).annotators.to_dicts()
    assert (row["screening_passed"], row["checks_failed"], row["checks_total"]) == expected
    assert (row["annotator_id"], row["source"], row["submissions"], row["seconds"]) == ("ann", "link", 1, 30.0)


def test_sessions_are_told_apart_and_late_answers_are_marked(tmp_path: Path) -> None:
    rules, now = AdmissionRules(sessions=2), 1000.0
    with Store.create(tmp_path / "s.sqlite") as store:
        store.assignments.save("f", draws(3))

        def answer(person: str, session: int = 1) -> None:
            lease = store.visits.admit(
                source="panel", person=person, session=session, rules=rules, minutes_allowed=5, now=now
            )
            if person == "late":
                store.visits.release_overdue(now + 301)
                store.visits.admit(source="panel", person="quick", rules=rules, now=now + 302)
            shown = replace(RATING, item_id="i0", sample=1)
            done = replace(submission_of(lease, answered(shown, 3.0)), session=session)
            store.visits.finish(done, "completed", "C", now=now + 303, rules=rules)

        answer("twice")
        answer("late")
        answer("twice", session=2)
        tables = export_tables(store)
    assert tables.annotators.select("submissions", "sessions").rows() == [(2, 2), (1, 1)]
    assert tables.ratings.select("session", "visit").rows() == [(1, "completed"), (1, "extra"), (2, "completed")]


def test_checks_say_nothing_of_an_llm(tmp_path: Path) -> None:
    with build_by_hand(tmp_path / "s.sqlite") as store:
        hand_in(store, "gpt", answered(IDENTICAL, 1.0), answered(RATING, 3.0), kind="llm")
        tables = export_tables(store)
    (row,) = tables.annotators.to_dicts()
    assert (row["annotator_kind"], row["source"]) == ("llm", "rater")
    assert (row["screening_passed"], row["checks_failed"], row["checks_total"]) == (None, None, None)
    assert tables.ratings["annotator_kind"].to_list() == ["llm"]


def test_ratings_of_identical_pairs_are_rows_of_people_and_llms(tmp_path: Path) -> None:
    unread = Missing(question_id="q", target=IDENTICAL, reason="no number", raw="?")
    with build_by_hand(tmp_path / "s.sqlite", count=3) as store:
        for who, answer, kind in (("ann", answered(IDENTICAL, 5.0), "human"), ("gpt", unread, "llm")):
            hand_in(store, who, answer, answered(RATING, 3.0), kind=kind)
        pairs = export_tables(store).identical_pairs
    assert pairs.select("annotator_id", "annotator_kind", "score", "expected", "missing_reason").rows() == [
        ("ann", "human", 5.0, 5.0, None),
        ("gpt", "llm", None, 5.0, "no number"),
    ]
    assert pairs.select("pair", "criterion").unique().rows() == [("i1", "meaning")]


def test_an_llm_is_one_annotator_with_many_submissions(tmp_path: Path) -> None:
    with build_by_hand(tmp_path / "s.sqlite", count=3) as store:
        for name in ("a00001", "a00002", "a00003"):
            lease = lease_for_rater(store, "gpt", name, ASKED)
            complete(
                store,
                Submission(
                    submission_id=lease.submission_id,
                    assignment_id=name,
                    annotator_id="gpt",
                    annotator_kind="llm",
                    source="rater",
                    answers=(answered(PREFERENCE, 0.5),),
                    seconds=2.0,
                ),
                completion_code="rater",
            )
        tables = export_tables(store)
    assert tables.annotators.select("submissions", "seconds").rows() == [(3, 6.0)]
    assert tables.preferences["assignment_id"].to_list() == ["a00001", "a00002", "a00003"]


def test_an_empty_store_gives_empty_tables_with_all_columns(tmp_path: Path) -> None:
    with build_by_hand(tmp_path / "s.sqlite") as store:
        tables = export_tables(store)
    assert {"annotator_id", "system_x", "preference", "missing_reason"} <= set(tables.preferences.columns)
    assert tables.ratings.height == tables.choices.height == tables.annotators.height == 0


RUN = "=+-@\t\r\n＝＋－＠"  # what a spreadsheet may take for the start of a formula
PLAIN = ['a "b", c\nd', "\x00", "\ud800", "'=1"]


@pytest.mark.parametrize("nasty", [*PLAIN, *(f"{start}SUM(A1)" for start in RUN)])
def test_screening_answers_are_no_formulas_and_come_back(tmp_path: Path, nasty: str) -> None:
    with build_by_hand(tmp_path / "s.sqlite") as store:
        hand_in(store, "ann", missing(SCREENING, "expected one of", nasty), answered(PREFERENCE, 0.0))
        tables = export_tables(store)
    write_tables(tables, tmp_path / "csv")
    (cell,) = pl.read_csv(tmp_path / "csv" / "annotators.csv", infer_schema=False)["screening:native"]
    printable = nasty.replace("\ud800", "\\ud800")
    assert cell == ("'" + nasty if nasty[0] in RUN + "'" else printable)
    assert read_csv(tmp_path / "csv" / "annotators.csv")["screening:native"].item() == printable
    write_tables(tables, tmp_path / "parquet", format="parquet")
    assert pl.read_parquet(tmp_path / "parquet" / "annotators.parquet")["screening:native"].item() == printable
    write_tables(tables, tmp_path / "jsonl", format="jsonl")
    (line,) = (tmp_path / "jsonl" / "annotators.jsonl").read_text().splitlines()
    assert json.loads(line)["screening:native"] == printable


def test_texts_get_an_apostrophe_and_numbers_are_left_alone(tmp_path: Path) -> None:
    table = pl.DataFrame({"annotator_id": ["-1"], "preference": [-0.5], "screening:x": ["'@a"]})
    empty = pl.DataFrame()
    write_tables(Tables(preferences=table, ratings=empty, choices=empty, annotators=empty, exclusions=empty), tmp_path)
    assert (tmp_path / "preferences.csv").read_text() == "annotator_id,preference,screening:x\n'-1,-0.5,''@a\n"
    assert read_csv(tmp_path / "preferences.csv").row(0) == ("-1", "-0.5", "'@a")


def test_tables_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with build_by_hand(tmp_path / "s.sqlite") as store, pytest.raises(ResponseError, match="cannot be written"):
        write_tables(export_tables(store), tmp_path / "taken")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Return the small study, built."""
    path = write_study(tmp_path)
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    with open_workspace(path) as opened:
        yield opened


def visit(workspace: Workspace, person: str) -> tuple[Submission, Form]:
    lease = lease_assignment(workspace.store, person, source="link", annotator_kind="human")
    form = workspace.form(lease.assignment_id)
    return answer_form(lease, form), form


def test_a_whole_study_comes_out_as_it_went_in(workspace: Workspace) -> None:
    """Every question of six people and a rater is a row, and every label gives the system that it hid."""
    for number in range(6):
        complete(workspace.store, visit(workspace, f"person {number}")[0], completion_code="C")
    lease = lease_for_rater(workspace.store, "gpt", "a00001", ASKED)
    complete(workspace.store, answer_form(lease, workspace.form("a00001")), completion_code="rater")
    tables = export_tables(workspace.store)
    submissions = list(workspace.store.submissions())
    for target, table in (
        (PreferenceTarget, tables.preferences),
        (RatingTarget, tables.ratings),
        (ChoiceTarget, tables.choices),
    ):
        asked = [
            (each.assignment_id, answer.target)
            for each in submissions
            for answer in each.answers
            if isinstance(answer.target, target)
        ]
        assert table.height == len(asked) > 0
        for row, (assignment_id, about) in zip(table.to_dicts(), asked, strict=True):
            hidden = workspace.store.assignments.key(assignment_id).systems
            for mark in ("", "_x", "_y"):
                if f"label{mark}" in row:
                    assert row[f"system{mark}"] == hidden[getattr(about, f"label{mark}")]
    assert set(tables.ratings["position"]) == {1, 2, 3}
    assert set(tables.preferences["preference"]) == {0.7}
    assert tables.annotators["screening_passed"].to_list() == [1] * 6 + [None]
    assert tables.annotators["checks_total"].to_list() == [2] * 6 + [None]
    assert tables.annotators["checks_failed"].to_list() == [0] * 6 + [None]
    assert tables.annotators["screening:native"].to_list() == ["Yes"] * 6 + [None]


def answers_of(questions: tuple[Question, ...]) -> str:
    return json.dumps({question.question_id: raw_answer(question) for question in questions})


def test_visits_broken_off_come_only_when_asked_for(workspace: Workspace, tmp_path: Path) -> None:
    """The finished pages; the page with a gap is left out."""
    complete(workspace.store, visit(workspace, "whole")[0], completion_code="C")
    half, form = visit(workspace, "half")
    pages = [page for page in form.pages if page.questions]
    compared = [page for page in pages if page.kind == "comparison"]
    for page in pages[: pages.index(compared[1])]:
        save_payload(workspace.store, half.submission_id, page.page_id, answers_of(page.questions))
    save_payload(workspace.store, half.submission_id, compared[1].page_id, "{}")
    study, out = str(tmp_path / "study.toml"), str(tmp_path / "tables")

    def exported(*options: str) -> pl.DataFrame:
        result = CliRunner().invoke(main, ["export", study, "--out", out, *options])
        assert result.exit_code == 0, result.output
        return pl.read_csv(tmp_path / "tables" / "preferences.csv")

    assert "complete" not in exported().columns
    assert exported()["annotator_id"].unique().to_list() == ["whole"]
    with_halves = exported("--incomplete")
    assert with_halves.group_by("annotator_id", maintain_order=True).agg("complete", pl.len()).rows() == [
        ("whole", [True] * 8, 8),
        ("half", [False] * len(compared[0].questions), len(compared[0].questions)),
    ]
    annotators = pl.read_csv(tmp_path / "tables" / "annotators.csv")
    assert annotators.select("annotator_id", "submissions", "complete").rows() == [
        ("whole", 1, True),
        ("half", 1, False),
    ]


def test_the_command_writes_each_format(workspace: Workspace, tmp_path: Path) -> None:
    complete(workspace.store, visit(workspace, "whole")[0], completion_code="C")
    for suffix in ("csv", "parquet", "jsonl"):
        out = tmp_path / suffix
        arguments = ["export", str(tmp_path / "study.toml"), "--out", str(out), "--format", suffix, "--json"]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        absent = ("orders", "spans")  # written where there are any
        names = [*(f"{name}.{suffix}" for name in TABLES if name not in absent), "codebook.tsv"]
        assert sorted(each.name for each in out.iterdir()) == sorted(names)
        assert [each["file"] for each in json.loads(result.output)] == [str(out / name) for name in names]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, None),
        ({"audit": {"draw": "even"}}, None),
        ({"audit": {"draw": "unsure"}}, "which forms people were given"),
        ({"audit": {"rule": "when_decided"}}, "which forms people were given"),
        ({"stopping": {"rule": "when_decided"}}, "how many people were asked"),
    ],
)
def test_export_says_where_tables_alone_mislead(
    workspace: Workspace, changed: dict[str, dict[str, str]], said: str | None
) -> None:
    """Where answers decided who was asked what, tests of a fixed number of people do not hold."""
    audit = Audit.model_validate({"rater": "r", "forms": 8, **changed["audit"]}) if "audit" in changed else None
    stopping = workspace.study.stopping.model_copy(update=changed.get("stopping", {}))
    study = workspace.study.model_copy(update={"audit": audit, "stopping": stopping})
    lines = [*misleading_alone(study)]
    assert len(lines) == bool(said)
    assert all(str(said) in line for line in lines)


def test_submissions_of_several_chunks_are_exported_whole(tmp_path: Path) -> None:
    count = 2 * VISITS + 2
    percents = [number % 101 for number in range(count)]
    with build_by_hand(tmp_path / "s.sqlite", count=count) as store:
        save_all(
            store,
            [
                (answered(PREFERENCE, percent / 100, str(percent)), answered(RATING, float(1 + percent % 5)))
                for percent in percents
            ],
        )
        tables = export_tables(store)
    people = [f"person {number}" for number in range(count)]
    assert tables.preferences["annotator_id"].to_list() == tables.ratings["annotator_id"].to_list() == people
    assert tables.annotators["annotator_id"].to_list() == people
    assert tables.preferences["preference"].to_list() == [percent / 100 for percent in percents]
    assert tables.ratings["score"].to_list() == [1 + percent % 5 for percent in percents]


def test_export_put_by_as_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows put by as frames from time to time, with texts as categories, are those that are gathered at once."""
    given = [
        *((answered(PREFERENCE, 0.2, "20"), answered(RATING, 4.0)), (missing(PREFERENCE), missing(RATING, "late")))
    ] * 4
    with build_by_hand(tmp_path / "s.sqlite", count=len(given)) as store:
        save_all(store, given)
        once = export_tables(store)
        monkeypatch.setattr("spa.responses.export.GATHERED", 3)
        often = export_tables(store, coded=("ratings",))
    assert often.ratings.schema["annotator_id"] == pl.Categorical()
    for name in TABLES:
        texts = getattr(often, name).with_columns(pl.col(pl.Categorical()).cast(pl.String))
        assert_frame_equal(texts, getattr(once, name))


def save_all(store: Store, answers_of_each: Sequence[tuple[Response | Missing, ...]]) -> None:
    """Save completed submissions in one transaction; one each, as people come, would take most of the test."""
    from sqlalchemy import insert

    from spa.responses.answer_rows import save_answers
    from spa.responses.store_schema import submissions as table

    with store.transaction() as connection:
        connection.execute(
            insert(table),
            [
                {
                    "number": number + 1,
                    "submission_id": f"s{number}",
                    "assignment_id": f"a{number + 1:05}",
                    "seat": "person 1",
                    "annotator_id": f"person {number}",
                    "annotator_kind": "human",
                    "source": "link",
                    "leased_at": 0.0,
                    "completed_at": 1.0,
                    "outcome": "completed",
                    "completion_code": "C",
                }
                for number in range(len(answers_of_each))
            ],
        )
        for number, each in enumerate(answers_of_each, start=1):
            save_answers(connection, number, each)


def test_a_dataset_folder_names_each_table_that_has_rows(workspace: Workspace, tmp_path: Path) -> None:
    import yaml

    complete(workspace.store, visit(workspace, "whole")[0], completion_code="C")
    out = tmp_path / "dataset"
    arguments = ["export", str(tmp_path / "study.toml"), "--out", str(out), "--format", "huggingface"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    head = yaml.safe_load((out / "README.md").read_text().split("---")[1])
    assert head["pretty_name"] == "A small study"
    assert {each["config_name"] for each in head["configs"]} == {
        "preferences",
        "ratings",
        "choices",
        "identical_pairs",
        "annotators",
    }
    for each in head["configs"]:
        assert pl.read_parquet(out / each["data_files"]).height > 0


def test_every_table_has_words_for_its_card() -> None:
    """A dataset with marked errors, or with the dashboard's log, is written like any other."""
    assert table_words().keys() >= {*TABLES, *MORE, *answer_tables()}
