"""Publishing a study as HITs: planned and priced first, then each HIT made once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection

from mturk import records
from mturk.eligibility import ensure_family_type, requirements
from mturk.endpoints import MTurkEndpoint, fetch_sites
from mturk.fees import CENT, HitCostEstimate, assignment_fee, estimate, format_money, parse_money, split
from mturk.hit_forms import ENTRY_PATH, render_hit_page
from mturk.idempotent_calls import KIND
from mturk.questions import LARGEST_QUESTION, ExternalQuestion, HTMLQuestion, question_size, render_question
from mturk.replies import MTurkReply, call, entries, fetch
from mturk.settings import MTurkTable, minutes_allowed
from spa.errors import PlatformError, StudyError
from spa.forms.effort import minutes_of
from spa.live import in_waves
from spa.media import media_shown
from spa.platforms.idempotent_calls import PlatformCall
from spa.platforms.waves import first_wave
from spa.responses.reading_evidence import required_seconds, share_to_play
from spa.study.audit import wave_size
from spa.study.stopping import planned_places

if TYPE_CHECKING:
    from mturk.hit_study import HitStudy

HITS = "hits"  # scope of the journal
EXISTS = "HitAlreadyExists"
HIT_ID = re.compile(r"\b[A-Z0-9]{20,64}\b", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedHit:
    """A HIT still to be created; places are numbered through the study, or through its form where it holds one."""

    offset: int  # number of its first place
    places: int
    assignment_id: str | None  # of the form that is part of the HIT; None: the survey server assigns forms

    @property
    def key(self) -> str:
        """Its name in the journal, which says what it offers and never changes."""
        return f"{self.assignment_id or 'server'}/{self.offset}+{self.places}"

    @classmethod
    def from_key(cls, key: str) -> PlannedHit:
        """Return the HIT that a key of the journal names."""
        name, _, place = key.partition("/")
        offset, _, places = place.partition("+")
        return cls(offset=int(offset), places=int(places), assignment_id=None if name == "server" else name)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishingPlan:
    """What publishing would do now."""

    form: Literal["html", "external"]
    hits: tuple[PlannedHit, ...]  # still to be created
    annotators: int  # of the study
    published: int  # places in earlier HITs
    cost: HitCostEstimate  # of the planned HITs
    so_far: Decimal  # dollars, of the places published before
    at_most: Decimal  # dollars, of all places that the study may need
    origins: tuple[str, ...]  # sites that answers may be posted to
    largest_question: int  # bytes of the largest question; of the form that does not fit, if one does not
    why_external: str | None  # why the HIT shows the survey server; None where it holds the form
    minutes_allowed: float


def make_plan(
    hit_study: HitStudy, *, annotators: int | None = None, again: Sequence[str] | None = None
) -> PublishingPlan:
    """Plan the HITs still to be created at the endpoint and estimate their cost; nothing is created.

    ``annotators`` is the total number who are to take part; by default the study's, of a live study its first wave.
    ``again`` are forms of an audit to be offered once more, as who had them gave no answers.

    Raises
    ------
    StudyError
        If the study has no pay in whole cents of US dollars, too few assignments, or a form that neither fits
        into a HIT nor has a survey server.
    """
    workspace, settings = hit_study.workspace, hit_study.settings
    study = workspace.study
    reward = reward_of(hit_study)
    published = records.all_hits(workspace.store, hit_study.endpoint.origin)
    if annotators is None:
        annotators = _next_annotators(hit_study, published)
    most = max(annotators, planned_places(study)) if in_waves(study) else annotators
    each = study.people.per_assignment
    built = workspace.store.assignments.ids_of_people()
    drawn_later = study.audit is not None and study.audit.in_waves
    needed = -(-(annotators if drawn_later else most) // each)
    if needed > len(built) and again is None:
        raise StudyError(
            f"{workspace.store.name}: expected {needed} assignments for {most} annotators, got {len(built)}; "
            f"run `spa build` with --annotators {needed}"
        )
    origins = find_origins(hit_study)
    form, largest, why = _choose_form(hit_study, origins, built[:needed], published)
    if form == "html":
        made = {hit.key for hit in published}
        hits = tuple(
            hit
            for number, assignment_id in enumerate(built)
            for hit in _split_places(hit_study, assignment_id, 0, min(each, annotators - number * each), reward)
            if hit.key not in made
        )
        if again is not None:
            hits += tuple(PlannedHit(offset=_offered(published, name), places=1, assignment_id=name) for name in again)
            hits = hits[: annotators - offered_places(published)]
    else:
        offered = offered_places(published)
        hits = tuple(_split_places(hit_study, None, offered, annotators - offered, reward))
    first = workspace.form(built[0])
    cost = estimate(
        [hit.places for hit in hits],
        reward,
        masters=settings.masters,
        rules=settings.fees,
        minutes=minutes_of(study, first),
    )
    so_far = sum((hit.max_assignments * (Decimal(hit.reward) + Decimal(hit.fee)) for hit in published), Decimal(0))
    wave = each if form == "html" else wave_size(study)
    return PublishingPlan(
        so_far=so_far,
        at_most=so_far + cost.total + _cost_of_waves(hit_study, wave, most - annotators, reward),
        form=form,
        hits=hits,
        annotators=annotators,
        published=sum(hit.max_assignments for hit in published),
        cost=cost,
        origins=origins,
        largest_question=largest,
        why_external=why,
        minutes_allowed=minutes_allowed(study, settings, first),
    )


def find_origins(hit_study: HitStudy) -> tuple[str, ...]:
    """Return the sites that answers may be posted to; the endpoint is asked for its own."""
    endpoint = hit_study.endpoint
    return tuple(dict.fromkeys((endpoint.origin, *hit_study.settings.worker_sites, *fetch_sites(endpoint))))


def reward_of(hit_study: HitStudy) -> Decimal:
    """Return the reward of a completed HIT, in dollars and whole cents."""
    people = hit_study.workspace.study.people
    if people.pay is None:
        raise StudyError('[people] pay: expected what a completed HIT is paid, such as "1.50", got nothing')
    if people.currency != "USD":
        raise StudyError(f"[people] currency: HITs are paid in USD, got {people.currency}; change it and pay")
    if people.pay != people.pay.quantize(CENT):
        raise StudyError(f"[people] pay: expected whole cents, got {people.pay}")
    return people.pay.quantize(CENT)


def check_balance(endpoint: MTurkEndpoint, needed: Decimal) -> Decimal:
    """Return the account's balance at the endpoint in dollars; refuse one that does not cover what is needed."""
    balance = parse_money(str(fetch(endpoint.reading.get_account_balance)["AvailableBalance"]))
    if balance < needed:
        raise PlatformError(
            f"{endpoint.origin}: expected a balance of ${needed} or more, got ${balance}; top it up, or publish for "
            "fewer with --annotators"
        )
    return balance


class Publisher:
    """Creates the HITs of a plan, each once."""

    def __init__(self, hit_study: HitStudy) -> None:
        self.hit_study = hit_study
        self.workspace = hit_study.workspace
        self.settings = hit_study.settings
        self.endpoint = hit_study.endpoint
        self.calls = hit_study.idempotent_calls

    def resolve_interrupted(self) -> int:
        """Find out what became of interrupted calls that create HITs, and return how many there were."""
        unfinished = self.calls.journal.unfinished(KIND)
        interrupted = [entry for entry in unfinished if entry.scope == self.calls.scope(HITS)]
        for entry in interrupted:
            hit = PlannedHit.from_key(entry.key)
            self.calls.resolve_call(self._creation(hit, {}, find_origins(self.hit_study)), entry)
        return len(interrupted)

    def publish(self, plan: PublishingPlan) -> Iterator[str]:
        """Create the HITs one by one and yield their ids."""
        if not plan.hits:
            return
        fixed = [hit.assignment_id for hit in plan.hits if hit.assignment_id is not None]
        if fixed and in_waves(self.workspace.study):
            self.workspace.store.assignments.note_published(fixed)
        family_type = ensure_family_type(self.calls, self.hit_study.family)
        hit_type_id = self._create_hit_type(plan, family_type)
        for hit in plan.hits:
            request = {
                "HITTypeId": hit_type_id,
                "MaxAssignments": hit.places,
                "LifetimeInSeconds": round(self.settings.lifetime_hours * 3600),
                "Question": self._question(plan, hit),
            }
            answer = self.calls.execute_call(self._creation(hit, request, plan.origins))
            yield str(answer["HIT"]["HITId"])

    def _create_hit_type(self, plan: PublishingPlan, family_type: str) -> str:
        parameters = {
            "Title": (self.settings.title or self.workspace.study.title)[:128],
            "Description": self.settings.description,
            "Keywords": ",".join(self.settings.keywords),
            "Reward": format_money(plan.cost.reward),
            "AssignmentDurationInSeconds": round(plan.minutes_allowed * 60),
            "AutoApprovalDelayInSeconds": round(self.settings.auto_approval_hours * 3600),
            "QualificationRequirements": requirements(self.settings, family_type),
        }
        made = fetch(self.endpoint.reading.create_hit_type, **parameters)  # the same properties give the same type
        return str(made["HITTypeId"])

    def _question(self, plan: PublishingPlan, hit: PlannedHit) -> str:
        if hit.assignment_id is None:
            return render_question(_external_question(self.settings))
        return render_question(_html_question(self.hit_study, hit.assignment_id, plan.origins))

    def _creation(self, hit: PlannedHit, request: Mapping[str, Any], origins: tuple[str, ...]) -> PlatformCall:
        annotation = f"spa:{self.workspace.study.id}:"
        return self.calls.new_call(
            scope=HITS,
            key=hit.key,
            method=self.endpoint.client_without_retries.create_hit_with_hit_type,
            request=request,
            find=partial(self._find, annotation),
            annotation=annotation,
            read_refusal=self._read_refusal,
            keep=partial(self._keep, hit, origins),
        )

    def _find(self, annotation: str, token: str) -> Mapping[str, Any] | None:
        """Look for a HIT by its token among all of the account."""
        hits = entries(self.endpoint.reading, "list_hits", "HITs")
        return next(({"HIT": hit} for hit in hits if hit.get("RequesterAnnotation") == annotation + token), None)

    def _read_refusal(self, reply: MTurkReply) -> Mapping[str, Any] | None:
        """Return the HIT that already used a token, which the endpoint's refusal names."""
        if EXISTS.lower() not in f"{reply.code} {reply.message}".lower():
            return None
        for hit_id in HIT_ID.findall(reply.message):
            found = call(self.endpoint.reading.get_hit, {"HITId": hit_id})
            if found.state == "done":
                return found.content
        return None

    def _keep(
        self, planned: PlannedHit, origins: tuple[str, ...], connection: Connection, answer: Mapping[str, Any]
    ) -> None:
        hit = answer["HIT"]
        reward = parse_money(str(hit["Reward"]))
        most = int(hit["MaxAssignments"])
        masters = self.settings.masters
        records.add_hit(
            connection,
            hit_id=hit["HITId"],
            hit_type_id=hit["HITTypeId"],
            endpoint=self.endpoint.origin,
            key=planned.key,
            assignment_id=planned.assignment_id,
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


def _next_annotators(hit_study: HitStudy, published: tuple[records.PublishedHit, ...]) -> int:
    """Return the study's annotators; of a live study those of the first wave, or as many as were published for."""
    study = hit_study.workspace.study
    if not in_waves(study):
        return study.people.annotators
    return max(first_wave(study, hit_study.store, most=planned_places(study)), offered_places(published))


def offered_places(published: tuple[records.PublishedHit, ...]) -> int:
    """Return how many places of the study HITs offer, or offered before they expired."""
    return sum(int(hit.key.rpartition("+")[2]) for hit in published)


def _offered(published: tuple[records.PublishedHit, ...], assignment_id: str) -> int:
    return offered_places(tuple(hit for hit in published if hit.assignment_id == assignment_id))


def _cost_of_waves(hit_study: HitStudy, wave: int, places: int, reward: Decimal) -> Decimal:
    """Return what so many further places cost in HITs of a wave each."""
    masters, rules = hit_study.settings.masters, hit_study.settings.fees
    waves, rest = divmod(max(places, 0), wave)
    whole = split(wave, reward, masters=masters, rules=rules) * waves
    hits = (*whole, *split(rest, reward, masters=masters, rules=rules))
    return estimate(hits, reward, masters=masters, rules=rules).total


def _choose_form(
    hit_study: HitStudy,
    origins: tuple[str, ...],
    assignment_ids: list[str],
    published: tuple[records.PublishedHit, ...],
) -> tuple[Literal["html", "external"], int, str | None]:
    """Decide whether forms are part of the HITs; return the bytes of the largest question, and why they are not."""
    settings = hit_study.settings
    began = {"html" if hit.assignment_id is not None else "external" for hit in published}
    if settings.form == "external" or (settings.form == "auto" and began == {"external"}):
        why = '[mturk] form = "external"' if settings.form == "external" else "as in the HITs that are published"
        return "external", question_size(_external_question(settings, why)), why
    if any(medium.files is not None and medium.files.streamed for medium in media_shown(hit_study.workspace.outputs)):
        why = "it shows clips, which the survey server plays part by part"
        if settings.form == "html":
            raise StudyError(f'[mturk] form: {why}; set form = "external" and public_url')
        return "external", question_size(_external_question(settings, why)), why
    largest = 0
    for assignment_id in assignment_ids:
        largest = max(largest, question_size(_html_question(hit_study, assignment_id, origins)))
        if largest > LARGEST_QUESTION:
            break
    else:
        return "html", largest, None
    why = f"the form of {assignment_id} makes {largest:,} bytes of XML, and a HIT holds {LARGEST_QUESTION:,}"
    if settings.form == "html":
        raise StudyError(f'[mturk] form: {why}; show fewer outputs, or set form = "external" and public_url')
    _external_question(settings, why)
    return "external", largest, why


def _external_question(settings: MTurkTable, why: str | None = None) -> ExternalQuestion:
    """Return the question of a HIT that shows the survey server in a frame; ``why`` it does."""
    if settings.public_url is None:
        raise StudyError(
            "[mturk] public_url: expected the https address of the survey server (`spa serve`), which HITs show here "
            f"({why}), got nothing; name it"
        )
    return ExternalQuestion(url=settings.public_url.rstrip("/") + ENTRY_PATH)


def _html_question(hit_study: HitStudy, assignment_id: str, origins: tuple[str, ...]) -> HTMLQuestion:
    """Return the question of a HIT that contains the form of an assignment."""
    workspace = hit_study.workspace
    seconds = required_seconds(workspace.study, workspace.texts)
    form = workspace.form(assignment_id)
    share = share_to_play(workspace.study, workspace.texts)
    html = render_hit_page(form, workspace.texts, origins=origins, seconds_per_100_words=seconds, share_played=share)
    return HTMLQuestion(html=html)


def _split_places(
    hit_study: HitStudy, assignment_id: str | None, offset: int, count: int, reward: Decimal
) -> Iterator[PlannedHit]:
    masters, rules = hit_study.settings.masters, hit_study.settings.fees
    for size in split(max(count, 0), reward, masters=masters, rules=rules):
        yield PlannedHit(offset=offset, places=size, assignment_id=assignment_id)
        offset += size
