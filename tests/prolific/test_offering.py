"""What the study file says becomes what the platform is asked: names, groups, addresses, money."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from prolific.api.problems import ProlificError
from prolific.api.records import ParticipantFilter
from prolific.bonuses import completion_bonuses
from prolific.collecting import look_at_all
from prolific.offer import least_maximum
from prolific.plan import description_problems
from prolific.prolific_study import open_prolific_study
from prolific.screening import requirements_of, resolve
from prolific.settings import read_table
from spa.commands.options import StudyLocation
from spa.errors import StudyError
from tests.prolific.conftest import Emulator, running
from tests.prolific.running_study import Running, running_study

NEEDED = {"project": "60f6acb180a7b59ac0621f9e", "description": "<p>Read.</p>"}


def known(emulator: Emulator) -> tuple[ParticipantFilter, ...]:
    from prolific.api.access import Access
    from prolific.api.client import Prolific

    workspace = emulator.api.get("/api/v1/workspaces/").json()["results"][0]["id"]
    with Prolific(Access(base_url=emulator.url, token="any-token")) as prolific:
        return prolific.audience.filters(workspace)


def test_screeners_are_resolved_by_name(emulator: Emulator) -> None:
    """Those of Sottana et al. (2023), footnote 8."""
    listed = {one.filter_id: one for one in known(emulator)}
    choices = list(listed["highest-education-level-completed"].choices.values())
    table = read_table(
        {
            **NEEDED,
            "screeners": {
                "first_language": ["english"],
                "country": ["United Kingdom"],
                "education": choices[-2:],
                "approval_rate": 100,
                "submissions": 200,
            },
            "filters": [
                {"name": "Handedness", "choices": ["Left-handed"]},
                {"name": "age", "lowest": 18, "highest": 40},
            ],
        },
        file="study.toml",
    )
    found = {one["filter_id"]: one for one in resolve(requirements_of(table), tuple(listed.values()))}
    assert listed["first-language"].choices[found["first-language"]["selected_values"][0]] == "English"
    assert len(found["highest-education-level-completed"]["selected_values"]) == 2
    assert found["approval_rate"]["selected_range"] == {"lower": 100, "upper": 100}
    assert found["age"]["selected_range"] == {"lower": 18, "upper": 40}
    assert found["handedness"]["selected_values"] == ["1"]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"name": "Handednes", "choices": ["Left-handed"]}, "near it: Handedness"),
        ({"name": "Handedness", "choices": ["Left"]}, "near it: Left-handed"),
        ({"name": "Handedness", "lowest": 1}, "has choices"),
        ({"name": "Age", "choices": ["18"]}, "is a range"),
        ({"name": "Approval rate", "lowest": 101}, "goes from 0 to 100"),
    ],
)
def test_offer_unknown_name_with_nearest(emulator: Emulator, entry: dict[str, Any], told: str) -> None:
    """A name that the platform does not know is told with the nearest."""
    table = read_table({**NEEDED, "filters": [entry]}, file="study.toml")
    with pytest.raises(ProlificError, match=told):
        resolve(requirements_of(table), known(emulator))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"project": "x"}, r"\[prolific\] project"),
        ({"reward": 1.505}, "reward"),
        ({"rewrad": 1}, "rewrad: no such key"),
        ({"codes": {"completed": {"action": "return", "reason": "x"}}}, "completed"),
        ({"codes": {"screened_out": {"action": "pay"}}}, "reward and slots"),
        ({"codes": {"no_consent": {"action": "return"}}}, "needs a reason"),
        ({"filters": [{"name": "Age"}]}, "expected choices, or"),
        ({"maximum_minutes": 1440}, "maximum_minutes"),
        ({"devices": ["watch"]}, "devices"),
    ],
)
def test_mistakes_in_the_table_are_told_with_their_place(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(StudyError, match=told):
        read_table({**NEEDED, **changes}, file="study.toml")


def test_amounts_are_read_exactly() -> None:
    assert read_table({**NEEDED, "reward": 1.1}, file="").reward == Decimal("1.1")
    assert round(least_maximum(10), 1) == 28.3


@pytest.mark.parametrize(
    ("description", "bad"),
    [
        ("<p>Read <strong>texts</strong>.</p>", 0),
        ("<div>Read.</div>", 1),
        ("<p onclick='x()'>Read.</p>", 1),
        ("<p></p>", 1),
        ("<p>Give us your phone number.</p>", 1),
    ],
)
def test_descriptions_hold_what_the_platform_shows(description: str, bad: int) -> None:
    assert len(description_problems(description)) == bad


PEOPLE = """
sessions = 2
"""
OFFER = """
completion_bonus_percent = 10
devices = ["desktop", "tablet"]
[prolific.codes.screened_out]
action = "pay"
reward = 0.15
slots = 3
"""


@pytest.fixture(scope="module")
def two_sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("sessions")
    with (
        running(folder / "platform.sqlite") as emulator,
        running_study(
            folder, emulator, places=4, people=PEOPLE, prolific='public_url = "http://127.0.0.1:1"' + OFFER
        ) as study,
    ):
        yield study


def test_two_sessions_with_a_completion_bonus(two_sessions: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who did both sessions gets ten per cent of both rewards, as in Sottana et al. (2023); who did one gets none."""
    study, people = two_sessions, two_sessions.emulator.people
    study.path.write_text(study.path.read_text().replace("annotators = 4", "annotators = 2"))
    plan = study.json("plan", "--public-url", study.url)["estimate"]
    assert (plan["rewards_amount"], plan["completion_bonus_amount"]) == ("8.00", "0.80")
    assert plan["screened_out_amount"] == "0.90"  # two sessions, three places, 0.15 each
    assert plan["total_amount"] in ("10.66", "10.68")
    first = study.publish()
    loyal, leaver = study.complete(first), study.complete(first)
    second = study.publish("--session", "2")
    assert second != first
    filters = study.emulator.api.get(f"/api/v1/studies/{second}/").json()["filters"]
    assert [one["filter_id"] for one in filters] == ["participant_group_allowlist"]
    study.complete(second, loyal.person)
    assert study.json("collect")[1]["differences"] == {}
    assert "0 bonuses" in study.spa("bonus", "--completion", yes=True).output, "nobody is approved yet"
    study.spa("approve", yes=True)
    told = study.spa("bonus", "--completion", yes=True).output
    assert "1 bonuses, 0 already paid, 1 to pay" in told
    study.spa("bonus", "--completion", yes=True)
    (paid,) = people.payments()
    assert (paid["participant_id"], paid["cents"]) == (loyal.person, 40)
    for name, value in study.environment.items():
        monkeypatch.setenv(name, value)
    with open_prolific_study(StudyLocation(study=study.path, store=study.store)) as opened:
        sessions = look_at_all(opened)
        assert [one.amount for one in completion_bonuses(opened, sessions)] == [Decimal("0.40")]
        for number in (0, 1):  # as if that session had been paid for without answers
            unanswered = [replace(one, visits=()) if at == number else one for at, one in enumerate(sessions)]
            assert completion_bonuses(opened, unanswered) == []
    (study.path.parent / "bonuses.csv").write_text(f"recipient,amount,reason\n{loyal.person},0.10,care\n")
    told = study.spa("bonus", "--from", str(study.path.parent / "bonuses.csv"), yes=True, code=1).stderr
    assert "took part 2 times; name the submission" in told
    stranger = people.do("POST", "participants/", {"count": 1})["participant_ids"][0]
    refused = people.client.post(
        f"/emulator/studies/{second}/take/", json={"participant_id": stranger, "device": "desktop"}
    )
    assert not refused.is_success
    codes = [study.workspace.store.visits.outcome_codes(name) for name in ("prolific", "prolific session 2")]
    assert not set(codes[0].values()) & set(codes[1].values())
    assert leaver.person != loyal.person


def test_screened_out_people_are_paid_a_fixed_sum(two_sessions: Running) -> None:
    body = two_sessions.emulator.api.get(f"/api/v1/studies/{two_sessions.create()}/").json()
    (screened,) = [one for one in body["completion_codes"] if one["code_type"] == "FIXED_SCREENOUT"]
    assert screened["actions"][0] == {
        "action": "FIXED_SCREEN_OUT_PAYMENT",
        "fixed_screen_out_reward": 15,
        "slots": 3,
    }
    groups = [
        action
        for one in body["completion_codes"]
        for action in one["actions"]
        if action["action"] == "ADD_TO_PARTICIPANT_GROUP"
    ]
    assert len(groups) == len(body["completion_codes"]) + 1, "every code leads to the group, the done one to a second"


def test_parallel_studies_of_a_family_take_each_person_once(tmp_path: Path, fresh_emulator: Emulator) -> None:
    """Also who left without a code is out: `collect` puts them into the group."""
    family = 'group = "our family"'
    people = fresh_emulator.people
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with (
        running_study(tmp_path / "a", fresh_emulator, places=5, prolific=family) as one,
        running_study(tmp_path / "b", fresh_emulator, places=5, prolific=family) as other,
    ):
        first, second = one.publish(), other.publish()
        done, left = one.complete(first), one.arrive(first)
        left.open()
        people.give_back(left.submission_id)
        take = people.client.post
        path = f"/emulator/studies/{second}/take/"
        assert not take(path, json={"participant_id": done.person, "device": "desktop"}).is_success
        one.json("collect")
        assert not take(path, json={"participant_id": left.person, "device": "desktop"}).is_success
        assert take(path, json={"participant_id": people.join()[0], "device": "desktop"}).is_success


GROUPS = """
[[people.groups]]
name = "north"
places = 2
parameter = "part"
values = ["n"]
[[people.groups]]
name = "south"
places = 1
parameter = "part"
values = ["s"]
"""


def test_taskflow_gives_each_group_an_address_and_places(tmp_path: Path, fresh_emulator: Emulator) -> None:
    with running_study(tmp_path, fresh_emulator, places=3, people=GROUPS, prolific="taskflow = true") as study:
        study_id = study.publish()
        for _ in range(3):
            study.complete(study_id)
        groups = [visit.people_group for visit in study.workspace.store.visits.of_people("prolific")]
        assert sorted(map(str, groups)) == ["north", "north", "south"]
        assert study.json("reconcile")[0]["differences"] == []
        stopped = study.spa("stop", code=0).output
        assert "Nothing was stopped" in stopped


def test_without_a_token_the_plan_says_what_it_does_not_know(two_sessions: Running) -> None:
    environment = {**two_sessions.environment, "PROLIFIC_API_TOKEN": ""}
    online, two_sessions.environment = two_sessions.environment, environment
    try:
        told = two_sessions.spa("plan").output
        two_sessions.spa("create", code=1)
    finally:
        two_sessions.environment = online
    assert "cost with fees: unknown (OFFLINE: PROLIFIC_API_TOKEN is not set; set [prolific] fee_percent" in told
    day = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=21)
    assert day.isoformat() in told
    assert "unknown balance" in told


def test_publishing_waits_for_every_line_of_the_checklist(tmp_path: Path, fresh_emulator: Emulator) -> None:
    people = fresh_emulator.people
    with running_study(tmp_path, fresh_emulator, places=3, prolific="reward = 1.00") as study:
        study.create()
        workspace = fresh_emulator.api.get("/api/v1/workspaces/").json()["results"][0]["id"]
        people.do("POST", "wallet/", {"workspace_id": workspace, "available": 100})
        told = study.spa("publish", "--public-url", "http://127.0.0.1:9", yes=True, code=1).stderr
        for line in ("address", "hourly pay", "eligible people", "balance"):
            assert f"not published: {line}: " in told
        assert "pay at least USD 1.34" in told
        assert people.requests("PublishStudy") == []
        accepted = [part for name in ("hourly pay", "eligible people", "balance") for part in ("--accept", name)]
        refused = study.spa("publish", "--public-url", study.url, *accepted, yes=True, code=1)
        assert "balance" in refused.stderr
        assert study.json("status")[0]["status"] == "UNPUBLISHED"
        people.do("POST", "wallet/", {"workspace_id": workspace, "pay_in": 100_000})
        study.spa("publish", "--public-url", study.url, *accepted, yes=True)
        assert study.json("status")[0]["status"] == "ACTIVE"
        assert study.json("stop", "--pause") == {"session": 1, "action": "PAUSE", "status": "PAUSED"}
        assert study.json("status")[0]["status"] == "PAUSED"
        study.spa("stop", "--resume")
        study.spa("stop", yes=True)
        assert study.json("status")[0]["status"] in ("AWAITING REVIEW", "COMPLETED")
        study.path.write_text(study.path.read_text().replace("reward = 1.00", "reward = 2.00"))
        assert "keeps its terms" in study.spa("create", "--public-url", study.url, code=1).stderr
