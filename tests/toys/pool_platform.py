"""A platform of its own: people of a lab's pool come with the word that the lab gave them, and go back with a code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import Field

from spa.errors import StudyError
from spa.journal import Journal
from spa.platforms.idempotent_calls import DONE
from spa.platforms.review import ReviewRules
from spa.platforms.study_table import read_study_table
from spa.records.platforms import Platform
from spa.records.study import Study
from spa.records.toml_table import Text, TomlTable
from spa.responses.store import Store
from spa.server.survey_context import SurveyContext

KEY = "pool"


class PoolTable(TomlTable):
    """The keys of ``[pool]``."""

    words: dict[str, Text] = Field(description="member of the pool -> the word by which the lab knows them")
    back: Text = Field(description="address to which people return")
    greeting: Text = Field("Welcome.", description="what members read in their invitation")


def read(raw: Mapping[str, Any], file: str) -> PoolTable:
    """Check the table ``[pool]``."""
    return read_study_table(PoolTable, raw, name=KEY, file=file, keys="known: words, back, greeting")


def suit(study: Study, table: PoolTable, file: str) -> None:
    """Refuse more places than the pool has members."""
    if study.people.annotators > len(table.words):
        raise StudyError(f"{file}: [pool] words: expected one for each annotator, got {len(table.words)}; add members")


def mount(app: FastAPI, context: SurveyContext) -> None:
    """Serve ``/pool?member=NAME&word=WORD``."""
    if KEY not in context.study.platforms:
        return
    table = read(context.study.platforms[KEY], "study.toml")

    @app.api_route("/pool", methods=["GET", "POST"], response_model=None)
    def enter(request: Request, member: str, word: str) -> Response:
        if table.words.get(member) != word:
            return context.notice("unknown", 403)
        if request.method != "POST":
            return context.known_visit(KEY, person=member, external_id=member) or context.first_page(request)
        return context.admit(source=KEY, person=member, external_id=member)

    context.allow_redirect_to(table.back)
    context.on_finish(KEY, lambda visit, outcome: context.redirect(f"{table.back}?code={visit.completion_code}"))


def paid_bonuses(store: Store) -> frozenset[int]:
    """Return the numbers of the decisions that were paid."""
    return frozenset(int(call.key) for call in Journal(store).every(KEY) if call.outcome == DONE)


def review_rules() -> ReviewRules:
    """Return the pool's rules."""
    return ReviewRules(
        platform="the pool",
        categories=("asleep",),
        shortest_message=5,
        lines=("Say it kindly.",),
        commands=("pool pay STUDY",),
        paid_bonuses=paid_bonuses,
    )


PLATFORM = Platform(
    key=KEY,
    title="the pool",
    record="tests.toys.pool_platform:PoolTable",
    read=read,
    suit=suit,
    shown=("greeting",),
    mount=mount,
    review_rules=review_rules,
    minimum_hourly_pay={"XTS": 3, "GBP": 9},
    recruited="From the pool of our lab.",
    knows_people=True,
)
