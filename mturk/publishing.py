"""Publishing a study as HITs: planned and priced first, then each HIT made once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection

from mturk import records
from mturk.eligibility import available_balance, ensure_family_type, requirements
from mturk.endpoints import MTurkEndpoint
from mturk.fees import CENT, HitCostEstimate, assignment_fee, estimate, format_money, parse_money, split
from mturk.hit_page import external_question, fits, html_question
from mturk.idempotent_calls import KIND, IdempotentMTurkCalls
from mturk.questions import HTMLQuestion, question_size, render_question
from mturk.replies import MTurkReply, call, entries, fetch
from mturk.settings import MTurkTable, minutes_allowed
from mturk.sites import fetch_sites
from spa.errors import PlatformError, StudyError
from spa.forms.effort import minutes_of
from spa.forms.form import Form
from spa.live import is_live
from spa.platforms.idempotent_calls import PlatformCall
from spa.platforms.waves import next_wave
from spa.responses.reading_evidence import required_seconds
from spa.study.stopping import planned_places

if TYPE_CHECKING:
    from spa.commands.workspace import Workspace
    from spa.study.study import Study

HITS = "hits"  # scope of the journal
EXISTS = "HitAlreadyExists"
HIT_ID = re.compile(r"\b[A-Z0-9]{20,64}\b", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One HIT that is to be made: the first place of the study that it offers, and how many."""

    offset: int
    assignments: int
    assignment_id: str | None  # the form that stands in it, where it holds one


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishingPlan:
    """What publishing would do now."""

    form: Literal["html", "external"]
    seats: tuple[Seat, ...]  # HITs still to be made
    annotators: int  # of the study
    published: int  # places in HITs that were made before
    cost: HitCostEstimate  # of the seats
    so_far: Decimal  # dollars, of the places published before
    at_most: Decimal  # dollars, of all places that the study may need
    origins: tuple[str, ...]  # sites that answers may be posted to
    largest_question: int  # bytes of the largest XML looked at; those of the form where it does not fit
    minutes_allowed: float


def origins_of(settings: MTurkTable, endpoint: MTurkEndpoint) -> tuple[str, ...]:
    """Return the sites that answers may be posted to; the endpoint is asked for its own."""
    return tuple(dict.fromkeys((endpoint.origin, *settings.worker_sites, *fetch_sites(endpoint))))


def make_plan(
    workspace: Workspace, settings: MTurkTable, endpoint: MTurkEndpoint, *, annotators: int | None = None
) -> PublishingPlan:
    """Plan the HITs that are still to be made at an endpoint, and price them; nothing is made.

    ``annotators`` are all that are to take part; where absent the study's own number, of a live study its first wave.

    Raises
    ------
    StudyError
        If the study has no pay in whole cents of US dollars, too few assignments, or a form that neither fits
        into a HIT nor has a survey server.
    """
    reward = reward_of(workspace)
    published = records.all_hits(workspace.store, endpoint.origin)
    annotators = annotators or _annotators(workspace.study, published)
    most = max(annotators, planned_places(workspace.study)) if is_live(workspace.study) else annotators
    each = workspace.study.people.per_assignment
    built = workspace.store.assignments.ids()
    needed = -(-most // each)
    if needed > len(built):
        raise StudyError(
            f"{workspace.store.name}: expected {needed} assignments for {most} annotators, got {len(built)}; "
            f"run `spa build` with --annotators {needed}"
        )
    origins = origins_of(settings, endpoint)
    form, largest = _choose_form(workspace, settings, origins, built[:needed], published)
    offered = 0 if form == "html" else offered_places(published)
    if form == "html":
        made = {hit.key for hit in published}
        seats = tuple(
            seat
            for number, assignment_id in enumerate(built)
            for seat in _seats(assignment_id, 0, min(each, annotators - number * each), reward, settings)
            if _key_of(seat) not in made
        )
    else:
        seats = tuple(_seats(None, offered, annotators - offered, reward, settings))
    first = workspace.form(built[0])
    minutes = minutes_of(workspace.study, first)
    cost = estimate(
        [seat.assignments for seat in seats], reward, masters=settings.masters, rules=settings.fees, minutes=minutes
    )
    so_far = sum((hit.max_assignments * (Decimal(hit.reward) + Decimal(hit.fee)) for hit in published), Decimal(0))
    sizes = (each if form == "html" else workspace.study.stopping.wave, most - annotators)
    return PublishingPlan(
        so_far=so_far,
        at_most=so_far + cost.total + _cost_of_waves(sizes, reward, settings),
        form=form,
        seats=seats,
        annotators=annotators,
        published=sum(hit.max_assignments for hit in published),
        cost=cost,
        origins=origins,
        largest_question=largest,
        minutes_allowed=minutes_allowed(workspace.study, settings, first),
    )


def reward_of(workspace: Workspace) -> Decimal:
    """Return what a completed submission is paid, in dollars and whole cents."""
    people = workspace.study.people
    if people.pay is None:
        raise StudyError('[people] pay: expected what a completed HIT is paid, such as "1.50", got nothing')
    if people.currency != "USD":
        raise StudyError(f"[people] currency: HITs are paid in USD, got {people.currency}; change it and pay")
    if people.pay != people.pay.quantize(CENT):
        raise StudyError(f"[people] pay: expected whole cents, got {people.pay}")
    return people.pay.quantize(CENT)


def check_balance(endpoint: MTurkEndpoint, needed: Decimal) -> Decimal:
    """Return the balance at the endpoint, refused where it does not cover what is planned."""
    balance = parse_money(available_balance(endpoint))
    if balance < needed:
        raise PlatformError(
            f"{endpoint.origin}: expected a balance of ${needed} or more, got ${balance}; top it up, or publish for "
            "fewer with --annotators"
        )
    return balance


class Publisher:
    """Makes the HITs of a plan."""

    def __init__(self, workspace: Workspace, settings: MTurkTable, idempotent_calls: IdempotentMTurkCalls) -> None:
        self.workspace = workspace
        self.settings = settings
        self.endpoint = idempotent_calls.endpoint
        self.idempotent_calls = idempotent_calls

    def resolve_interrupted(self) -> int:
        """Find out what became of interrupted calls that make HITs; returns how many there were."""
        unfinished = self.idempotent_calls.journal.unfinished(KIND)
        opened = [entry for entry in unfinished if entry.scope == self.idempotent_calls.scope(HITS)]
        for entry in opened:
            call = self._creation(_seat_of(entry.key), {}, origins_of(self.settings, self.endpoint))
            self.idempotent_calls.resolve_call(call, entry)
        return len(opened)

    def publish(self, plan: PublishingPlan, family: str) -> Iterator[str]:
        """Make the HITs one by one and yield their ids."""
        if not plan.seats:
            return
        fixed = [seat.assignment_id for seat in plan.seats if seat.assignment_id is not None]
        if fixed and is_live(self.workspace.study):
            self.workspace.store.assignments.note_published(fixed)
        family_type = ensure_family_type(self.idempotent_calls, family)
        hit_type = self._hit_type(plan, family_type)
        for seat in plan.seats:
            request = self._request(plan, seat, hit_type)
            answer = self.idempotent_calls.execute_call(self._creation(seat, request, plan.origins))
            yield str(answer["HIT"]["HITId"])

    def _hit_type(self, plan: PublishingPlan, family_type: str) -> str:
        study = self.workspace.study
        parameters = {
            "Title": (self.settings.title or study.title)[:128],
            "Description": self.settings.description,
            "Keywords": ",".join(self.settings.keywords),
            "Reward": format_money(plan.cost.reward),
            "AssignmentDurationInSeconds": round(plan.minutes_allowed * 60),
            "AutoApprovalDelayInSeconds": round(self.settings.auto_approval_hours * 3600),
            "QualificationRequirements": requirements(self.settings, family_type),
        }
        made = fetch(self.endpoint.reading.create_hit_type, **parameters)  # the same facts get the same type again
        return str(made["HITTypeId"])

    def _request(self, plan: PublishingPlan, seat: Seat, hit_type: str) -> Mapping[str, Any]:
        return {
            "HITTypeId": hit_type,
            "MaxAssignments": seat.assignments,
            "LifetimeInSeconds": round(self.settings.lifetime_hours * 3600),
            "Question": self._question(plan, seat),
        }

    def _question(self, plan: PublishingPlan, seat: Seat) -> str:
        if seat.assignment_id is None:
            return render_question(external_question(str(self.settings.public_url)))
        form = self.workspace.form(seat.assignment_id)
        return render_question(_question_of(self.workspace, form, plan.origins))

    def _creation(self, seat: Seat, request: Mapping[str, Any], origins: tuple[str, ...]) -> PlatformCall:
        annotation = f"spa:{self.workspace.study.id}:"
        return self.idempotent_calls.new_call(
            scope=HITS,
            key=_key_of(seat),
            method=self.endpoint.client_without_retries.create_hit_with_hit_type,
            request=request,
            find=partial(self._find, annotation),
            annotation=annotation,
            read_refusal=self._read_refusal,
            keep=partial(self._keep, seat, origins),
        )

    def _find(self, annotation: str, token: str) -> Mapping[str, Any] | None:
        """Look for a HIT by its token among all of the account."""
        hits = entries(self.endpoint.reading, "list_hits", "HITs")
        return next(({"HIT": hit} for hit in hits if hit.get("RequesterAnnotation") == annotation + token), None)

    def _read_refusal(self, reply: MTurkReply) -> Mapping[str, Any] | None:
        """Return the HIT that a repeat of a token is refused for: the endpoint's words name it."""
        if EXISTS.lower() not in f"{reply.code} {reply.message}".lower():
            return None
        for hit_id in HIT_ID.findall(reply.message):
            found = call(self.endpoint.reading.get_hit, {"HITId": hit_id})
            if found.state == "done":
                return found.content
        return None

    def _keep(self, seat: Seat, origins: tuple[str, ...], connection: Connection, answer: Mapping[str, Any]) -> None:
        hit = answer["HIT"]
        reward = parse_money(str(hit["Reward"]))
        most = int(hit["MaxAssignments"])
        masters = self.settings.masters
        records.add_hit(
            connection,
            hit_id=hit["HITId"],
            hit_type_id=hit["HITTypeId"],
            endpoint=self.endpoint.origin,
            key=_key_of(seat),
            assignment_id=seat.assignment_id,
            sites=" ".join(origins),
            max_assignments=most,
            reward=format_money(reward),
            fee=format_money(assignment_fee(reward, max_assignments=most, masters=masters, rules=self.settings.fees)),
            question_bytes=len(str(hit.get("Question", "")).encode()),
            created_at=float(hit["CreationTime"]),
            expires_at=float(hit["Expiration"]),
        )


def fetch_hit(endpoint: MTurkEndpoint, hit_id: str) -> Mapping[str, Any]:
    """Return a HIT as the endpoint knows it now."""
    hit: Mapping[str, Any] = fetch(endpoint.reading.get_hit, HITId=hit_id)["HIT"]
    return hit


def _annotators(study: Study, published: tuple[records.PublishedHit, ...]) -> int:
    if not is_live(study):
        return study.people.annotators
    first = next_wave(None, wave=study.stopping.wave, most=planned_places(study), places=0).places
    return max(first, offered_places(published))


def offered_places(published: tuple[records.PublishedHit, ...]) -> int:
    """Return how many places of the study HITs offer, or offered before they expired."""
    return sum(int(hit.key.rpartition("+")[2]) for hit in published)


def _cost_of_waves(sizes: tuple[int, int], reward: Decimal, settings: MTurkTable) -> Decimal:
    """Return what so many further places cost in HITs of a wave each."""
    wave, places = sizes
    waves, rest = divmod(max(places, 0), wave)
    whole = split(wave, reward, masters=settings.masters, rules=settings.fees) * waves
    hits = (*whole, *split(rest, reward, masters=settings.masters, rules=settings.fees))
    return estimate(hits, reward, masters=settings.masters, rules=settings.fees).total


def _choose_form(
    workspace: Workspace,
    settings: MTurkTable,
    origins: tuple[str, ...],
    assignment_ids: list[str],
    published: tuple[records.PublishedHit, ...],
) -> tuple[Literal["html", "external"], int]:
    """Decide whether the forms stand in the HITs, and return the bytes of the largest question."""
    began = {"html" if hit.assignment_id is not None else "external" for hit in published}
    if settings.form == "external" or (settings.form == "auto" and began == {"external"}):
        return "external", _external_size(settings)
    largest = 0
    for assignment_id in assignment_ids:
        question = _question_of(workspace, workspace.form(assignment_id), origins)
        largest = max(largest, question_size(question))
        if not fits(question):
            break
    else:
        return "html", largest
    if settings.form == "html":
        raise StudyError(
            f"[mturk] form: the form of {assignment_id} makes {largest:,} bytes of XML, and a HIT holds 65,535; "
            'show fewer outputs, or set form = "external" and public_url'
        )
    _external_size(settings)
    return "external", largest


def _external_size(settings: MTurkTable) -> int:
    if settings.public_url is None:
        raise StudyError(
            "[mturk] public_url: expected the https address of the survey server (`spa serve`), because the form does "
            "not stand in the HIT, got nothing"
        )
    return question_size(external_question(settings.public_url))


def _seats(assignment_id: str | None, offset: int, count: int, reward: Decimal, settings: MTurkTable) -> Iterator[Seat]:
    for size in split(max(count, 0), reward, masters=settings.masters, rules=settings.fees):
        yield Seat(offset=offset, assignments=size, assignment_id=assignment_id)
        offset += size


def _key_of(seat: Seat) -> str:
    """Name a HIT in the journal by what it offers: the same for ever."""
    return f"{seat.assignment_id or 'server'}/{seat.offset}+{seat.assignments}"


def _question_of(workspace: Workspace, form: Form, origins: tuple[str, ...]) -> HTMLQuestion:
    seconds = required_seconds(workspace.study, workspace.texts)
    return html_question(form, workspace.texts, origins=origins, seconds_per_100_words=seconds)


def _seat_of(key: str) -> Seat:
    name, _, place = key.partition("/")
    offset, _, size = place.partition("+")
    return Seat(offset=int(offset), assignments=int(size), assignment_id=None if name == "server" else name)
