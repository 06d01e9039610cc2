"""How a request changes a visit: admission, saved pages, the end; each runs in one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import Literal

from sqlalchemy import Connection

from spa.records.form import Form, Page, TextBlock
from spa.responses import admission, completion_codes, outcomes
from spa.responses.admission import Arrival, QuotaFull
from spa.responses.answers import unknown_keys
from spa.responses.capacity import free_seat, keep_place, reclaim
from spa.responses.completion_codes import code_source, random_code
from spa.responses.conduct_evidence import CONDUCT, HONEYPOT
from spa.responses.leases import Lease, lease_of_token, lock_leases
from spa.responses.outcomes import Outcome
from spa.responses.payloads import read_pages, save_page, save_unreadable
from spa.responses.reading_evidence import READING
from spa.responses.reading_steps import SERVED, parse_served
from spa.responses.tokens import has_token, note_consent
from spa.responses.visit_ends import finish_visit
from spa.server.form_posts import FIELD, SMALL_VISIT, FormPost, largest_post, largest_visit
from spa.server.form_progress import FormProgress, KeptPages, SentPage
from spa.server.survey_context import SurveyContext

Navigation = Literal["on", "step", "back", "stay", "decline"]
FORWARD = ("on", "step")
Fields = Mapping[str, str]
NO_PARAMETERS: Mapping[str, str] = MappingProxyType({})
FoundForm = FormProgress | Literal["not admitted", "unknown"]


Refusal = Literal["page", "ended", "closed", "large", "full"]  # why what was sent is counted, and not stored


@dataclass(frozen=True, slots=True)
class PageResult:
    """The result of a page that was sent: it is on disk, or ``refused``.

    That is because the form has no such "page", the visit has "ended", the page is "closed" until those before it are
    complete, the post is "large" for the page, or the visit is "full".
    """

    visit: FormProgress
    page: Page | None  # None: the form has no such page
    ended: bool
    unusable: int | None = None  # status for what is no form, or has fields that the page has not: stored and reported
    refused: Refusal | None = None


class VisitTransactions:
    """The visits of one study, as transactions change them."""

    def __init__(self, context: SurveyContext, form_of: Callable[[str], Form], *, source: str) -> None:
        self.context = context
        self.study = context.study
        self.store = context.store
        self.clock = context.clock
        self.form_of = form_of
        self.source = source
        self._kept = KeptPages()

    def find(self, connection: Connection, token: str) -> FoundForm:
        """Return the visit as it is; it has no place any more where its time is over."""
        lease = lease_of_token(connection, token)
        if lease is None:
            return "not admitted" if has_token(connection, token) else "unknown"
        return self._visit_of(connection, lease)

    def can_return(self, connection: Connection, lease: Lease) -> bool:
        """Return whether a place that expired is still free, so that the next page that is sent takes it again."""
        if lease.release_reason != outcomes.TIMED_OUT:
            return False
        return free_seat(connection, lease.assignment_id, self.context.rules.per_assignment) is not None

    def open_visit(
        self, connection: Connection, token: str, parameters: Mapping[str, str] = NO_PARAMETERS
    ) -> FormProgress:
        """Return the visit of a token: a new one on first use; an expired one gets its place back if it is free."""
        lease, now = lease_of_token(connection, token), self.clock()
        if lease is None:
            lease = self.admit(connection, token, group=self.context.group_of(parameters))
        if lease.released and lease.release_reason == outcomes.TIMED_OUT:
            lock_leases(connection)
            rules = self.context.rules
            to_begin = rules.minutes_to_begin_again
            lease = reclaim(connection, lease, rules.per_assignment, now=now, minutes_to_begin=to_begin)
            if lease.external_id is None or lease.source in self.context.own_codes:  # no platform pays for a place
                lease = admission.begin_again(connection, lease, rules, now=now)
        return self._visit_of(connection, lease)

    def can_begin_again(self, connection: Connection, lease: Lease) -> bool:
        """Return whether somebody who has sent nothing, and lost the place to another, may ask for a new one."""
        if lease.external_id is not None and lease.source not in self.context.own_codes:
            return False
        return admission.can_begin_again(connection, lease, self.context.rules)

    def admit(self, connection: Connection, token: str, *, session: int = 1, group: str | None = None) -> Lease:
        """Assign a form to the person with a token, or return their existing visit."""
        lock_leases(connection)
        arrival = Arrival(
            annotator_id=self.store.keyed(token),
            source=self.source,
            annotator_kind=self.context.annotator_kind,
            token=token,
            session=session,
            group=group,
            minutes_allowed=self.context.minutes_allowed,
        )
        return admission.admit(connection, arrival, self.context.rules, now=self.clock())

    def _visit_of(self, connection: Connection, lease: Lease) -> FormProgress:
        form = self.form_of(lease.assignment_id)
        sent = read_pages(connection, lease.submission_id)
        return FormProgress.from_payloads(
            form,
            lease,
            sent,
            seconds_per_100_words=self.context.seconds_per_100_words,
            share_played=self.context.share_played,
            keyed=self.store.keyed,
            kept=self._kept,
        )

    def submit(
        self,
        connection: Connection,
        token: str,
        page_id: str,
        post: FormPost,
        go: Navigation | None,
        *,
        seen: int | None = None,
    ) -> PageResult | Literal["not admitted", "unknown"]:
        """Save a page verbatim before it is parsed; end the visit if it decides the outcome.

        Only what comes for an open page of a visit is saved; ``go`` is ``None`` where it leads nowhere. What was sent
        from another tab or device since the page was shown, when it had been sent as often as ``seen`` says, stays but
        where this one changed it: both together are saved too, as what was sent last.
        """
        visit = self.find(connection, token)
        if isinstance(visit, str):
            return visit
        page, now = visit.page(page_id), self.clock()
        refused = _refusal(visit, page, post)
        if page is None or refused is not None:
            return PageResult(visit, page, ended=refused == "ended", refused=refused or "page")
        if visit.lease.released:
            visit = self.open_visit(connection, token)
        if go == "decline" and page.kind == "consent":
            self._finish(connection, visit, outcomes.NO_CONSENT, now)
            return PageResult(visit, page, ended=True)
        fields = post.fields
        if fields is None or go is None or go == "decline":
            save_unreadable(connection, visit.lease.submission_id, page_id, post.body, now=now)
            return PageResult(visit, page, ended=False, unusable=post.status)
        sent = visit.reading(page, fields)
        unknown = not _has_only_own_fields(visit, sent)
        again = unknown and visit.fields(page) == fields  # a program in a loop must not fill the store
        if (
            go in FORWARD or page.questions or READING in fields
        ) and not again:  # without either: read when left forward
            body = json.dumps(fields)
            save_page(connection, visit.lease.submission_id, page_id, body, now=now)
            if not visit.sent:
                self.context.unbegun.forget(token)
                keep_place(connection, visit.lease, self.context.minutes_to_begin, now=now)
            self._kept[visit.lease.submission_id, page_id, body] = sent
            shown, visit = visit, visit.with_page(sent, now=now)
            if not unknown and (together := shown.together(page, fields, seen)) != fields:
                save_page(connection, visit.lease.submission_id, page_id, json.dumps(together), now=now)
                visit = visit.with_page(visit.reading(page, together), now=now)
        if unknown:
            return PageResult(visit, page, ended=False, unusable=post.status)
        if page.kind == "consent" and visit.lease.consented_at is None and not visit.gaps(page):
            agreed = "\n\n".join(block.markdown for block in page.blocks if isinstance(block, TextBlock))
            text_hash = sha256(agreed.encode()).hexdigest()
            note_consent(connection, visit.lease.submission_id, text_hash=text_hash, now=now)
        if go not in FORWARD or not visit.is_complete(page):
            return PageResult(visit, page, ended=False)
        outcome = self._outcome(connection, visit, page)
        if outcome is not None:
            self._finish(connection, visit, outcome, now)
        return PageResult(visit, page, ended=outcome is not None)

    def _outcome(self, connection: Connection, visit: FormProgress, page: Page) -> Outcome | None:
        """Return the outcome that an answered page decides; ``None`` if the visit continues."""
        if visit.screened_out:
            return outcomes.SCREENED_OUT
        most = self.study.people.end_after_failed_checks
        if most is not None and visit.failed_checks >= most:
            return outcomes.FAILED_CHECKS
        if page.kind == "screening" and not self._has_group(connection, visit):
            return outcomes.QUOTA_FULL
        return outcomes.COMPLETED if page is visit.form.pages[-1] and visit.all_answered else None

    def _has_group(self, connection: Connection, visit: FormProgress) -> bool:
        """Join the quota group that the screening answers name; false if it is full."""
        by_screening = [group for group in self.study.people.groups if group.screening is not None]
        if not by_screening:
            return True
        given = visit.screening
        mine = next((group for group in by_screening if given.get(group.screening or "") in group.values), None)
        if mine is None:
            return False
        lock_leases(connection)
        try:
            admission.join_group(connection, visit.lease.submission_id, mine.name, self.context.rules)
        except QuotaFull:
            return False
        return True

    def _finish(self, connection: Connection, visit: FormProgress, outcome: Outcome, now: float) -> None:
        lock_leases(connection)
        lease = visit.lease
        if outcome == outcomes.COMPLETED and self.study.people.completion_code is not None:
            code = self.study.people.completion_code
        elif outcome == outcomes.COMPLETED and (lease.external_id is None or lease.source in self.context.own_codes):
            code = random_code()  # a person's own
        else:
            code = completion_codes.outcome_codes(connection, code_source(lease.source, lease.session))[outcome]
        submission = visit.submission(now, outcome)
        finish_visit(connection, submission, outcome, code, now=now, rules=self.context.rules)


def _refusal(visit: FormProgress, page: Page | None, post: FormPost) -> Refusal | None:
    if page is None:
        return "page"
    if visit.lease.finished:
        return "ended"
    if visit.is_ahead(page):
        return "closed"
    size = len(post.body)
    if size > FIELD and size > largest_post(page):
        return "large"
    received = visit.received + size
    return "full" if received > SMALL_VISIT and received > largest_visit(visit.form) else None


def _has_only_own_fields(visit: FormProgress, sent: SentPage) -> bool:
    """Return whether a page has all fields that were sent: its questions and evidence, of reading if it can be read."""
    if READING in sent.fields and sent.exposure is None:
        return False
    if SERVED in sent.fields:
        try:
            parse_served(sent.fields[SERVED], visit.sign(sent.page))
        except ValueError:
            return False
    return set(unknown_keys(sent.page.questions, sent.fields)) <= {READING, SERVED, CONDUCT, HONEYPOT}
