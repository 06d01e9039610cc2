"""``spa plan --with``: what a plan takes for granted of an LLM, measured in the study's answers or stated."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from spa.errors import AnalysisError, SpaError

if TYPE_CHECKING:
    from analysis.llm_vs_people.people_saved import PeopleSavedRow
    from analysis.planning.assumptions import Kind
    from analysis.planning.plan import RaterAssumptions
    from spa.commands.workspace import Workspace
    from spa.records.raters import Rater

LOOKED_AT = 50  # forms whose prompts are counted
SOURCES = {"spa": "preferences", "likert": "ratings", "spans": "ratings", "choices": "choices", "ranking": "choices"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRater:
    """Options of ``spa plan``: whose answers stand beside people's, and what is stated of them."""

    name: str
    correlation: float | None
    price: Decimal | None


def rater_assumptions(
    path: Path | None, kinds: tuple[Kind, ...], stated: StatedRater, *, items_a_form: int
) -> dict[Kind, RaterAssumptions]:
    """Return what is known of an LLM, for each kind of answers that is planned.

    Raises
    ------
    AnalysisError
        Where its correlation with people, or its price, is neither stated nor known.
    """
    from analysis.planning.plan import RaterAssumptions

    found: dict[Kind, tuple[float, float | None, float | None]] = {}
    if stated.correlation is not None:
        found = dict.fromkeys(kinds, (stated.correlation**2, None, None))
    price, source = (None if stated.price is None else float(stated.price)), "stated"
    if not found or price is None:
        if path is None:
            raise AnalysisError("--with: without STUDY expected --correlation and --rater-price, got only one or none")
        price, source, measured = _known(path, stated, price, source, measure=not found)
        found = found or {kind: _explained(measured, kind, stated.name) for kind in kinds}
    return {
        kind: RaterAssumptions(
            rater=stated.name,
            explained=explained,
            explained_low=low,
            explained_high=high,
            measured=stated.correlation is None,
            price=price,
            price_source=source,
            items_a_form=items_a_form,
        )
        for kind, (explained, low, high) in found.items()
    }


def _known(
    path: Path, stated: StatedRater, price: float | None, source: str, *, measure: bool
) -> tuple[float, str, list[PeopleSavedRow]]:
    """Return the price of a form and where it comes from, and how the LLM's answers go with people's."""
    from spa.commands.rating import choose_rater
    from spa.commands.workspace import open_answers

    try:
        workspace = open_answers(path, quiet=True)
    except SpaError as error:
        raise AnalysisError(
            f"--with: expected finished answers or both --correlation and --rater-price, got: {error}"
        ) from error
    with workspace:
        rows = _saved(workspace) if measure else []
        if price is None:
            price, source = _price(workspace, choose_rater(workspace.study, path, stated.name, simulate=False), path)
    return price, source, rows


def _saved(workspace: Workspace) -> list[PeopleSavedRow]:
    from analysis.answers.input import prepare_input
    from analysis.answers.study_answers import answers_of
    from analysis.llm_vs_people.people_saved import people_saved

    answers = answers_of(workspace)
    prepared = prepare_input(answers.tables, answers.plan, answers.facts)
    return list(people_saved(prepared.kept, prepared.orders, prepared.plan))


def _explained(rows: list[PeopleSavedRow], kind: Kind, name: str) -> tuple[float, float | None, float | None]:
    """Average over criteria what the LLM's answers explain."""
    own = [row for row in rows if row.source == SOURCES[kind] and row.system_x is None and row.group == name]
    known = [row for row in own if row.limit is not None]
    if not known:
        others = ", ".join(dict.fromkeys(row.group for row in rows)) or "none"
        why = own[0].reason if own else f"no answers of it beside people's (LLMs beside people: {others})"
        raise AnalysisError(f"--with {name}: {why}; run spa rate, or state --correlation")
    low, high = ([getattr(row, end) for row in known] for end in ("limit_low", "limit_high"))
    ends = [None if None in values else fmean(values) for values in (low, high)]
    return fmean(row.limit or 0.0 for row in known), ends[0], ends[1]


def _price(workspace: Workspace, rater: Rater, path: Path) -> tuple[float, str]:
    """Return what a form costs: what forms cost so far, else an estimate from the study's own prompts."""
    from spa.commands.rating import choose_variants
    from spa.journal import Journal
    from spa.raters.budget import load_prices
    from spa.raters.estimate import estimate, spent_before
    from spa.raters.prompt_messages import PromptWriter
    from spa.raters.visits import rater_visits

    prices = load_prices(None, path)
    visits = rater_visits(workspace.store, choose_variants(rater, ()), asking=workspace.asking)
    spent = spent_before(Journal(workspace.store), rater.id)
    step = max(1, len(visits) // LOOKED_AT)
    found = estimate(
        workspace, visits[::step], PromptWriter(workspace.texts), price=prices.models.get(rater.model), spent=spent
    )
    if spent and found.finished:
        done = estimate(workspace, visits, PromptWriter(workspace.texts), price=None).finished
        return spent / done, f"mean of {done:,} forms answered"
    if found.cost is None or found.visits == found.finished:
        raise AnalysisError(
            f"--with {rater.id}: expected a price for {rater.model!r} in prices.toml beside {path}, got none; add one, "
            "or give --rater-price"
        )
    return found.cost / (found.visits - found.finished), f"estimated from {found.basis}"
