"""A rater whose replies hold no readable answer: noticed after a few forms, and told with what to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from spa.raters.endpoints.endpoint import LLMReply
from spa.raters.reading import BROKE_OFF
from spa.raters.visits import RaterVisit
from spa.records.form import Judgement
from spa.records.raters import Rater, RaterProtocol
from spa.records.submission import Missing, Response
from spa.responses.set_apart import silent_visits
from spa.responses.store import Store

MAX_FAILED_VISITS = 8  # visits in a row that nobody answered, or without a readable answer: nothing more is asked
FEWEST = 2  # forms of a run that tell a rater that never answers from one form that was not answered
QUOTED = 60  # characters of a reply
THOUGHTS = ("reasoning_content", "reasoning")
AGAIN = "then run again with --again, which sets these forms apart"


class Silence:
    """Which variants of a rater give no readable answer, form after form, in this run and before."""

    def __init__(self, store: Store, rater: Rater) -> None:
        self._rater = rater
        self._before = silent_visits(store, rater.id)
        self._in_a_row: Counter[str | None] = Counter()
        self._spoke = {variant for variant, silent in self._before.items() if not silent}
        self._last: dict[str | None, str] = {}

    @property
    def spoke(self) -> bool:
        """Whether any variant has a readable answer on record."""
        return bool(self._spoke)

    def has_spoken(self, visit: RaterVisit) -> bool:
        """Return whether the variant of a visit has a readable answer on record."""
        return visit.asked.variant in self._spoke

    def is_doubtful(self, visit: RaterVisit) -> bool:
        """Return whether the next silent form may be the last, or the variant of a visit has never answered."""
        variant = visit.asked.variant
        return variant not in self._spoke or self._in_a_row[variant] >= MAX_FAILED_VISITS - 1

    def hope(self, visit: RaterVisit) -> None:
        """Forget the forms before: a visit is asked anew, since something has changed."""
        self._before[visit.asked.variant] = 0

    def count(self, visit: RaterVisit, answers: Sequence[Response | Missing], reply: LLMReply | None) -> None:
        """Count a finished visit, with the last reply to it."""
        variant = visit.asked.variant
        judged = [one for one in answers if isinstance(one.target, Judgement)] or answers
        if any(isinstance(one, Response) for one in judged):
            self._spoke.add(variant)
            self._in_a_row[variant] = 0
        elif judged:
            self._in_a_row[variant] += 1
            self._last[variant] = cause_of(reply, answers, visit.protocol)

    def problem(self, visit: RaterVisit) -> str | None:
        """Return why no further form is to be asked in the way of a visit; ``None`` where it may answer."""
        variant = visit.asked.variant
        if self._in_a_row[variant] >= MAX_FAILED_VISITS:
            return self._told(visit.asked.name, self._in_a_row[variant], self._last[variant])
        before = self._before.get(variant, 0)
        if variant not in self._spoke and before >= MAX_FAILED_VISITS:
            cause = f"see the replies with `spa export --raw`; change what they lack, {AGAIN}"
            return self._told(visit.asked.name, before, cause)
        return None

    def at_end(self) -> str | None:
        """Return what is to be told of a run in which some variant was asked and has never given an answer."""
        silent = [variant for variant, forms in self._in_a_row.items() if forms and variant not in self._spoke]
        if not silent:
            return None
        if sum(self._in_a_row.values()) < FEWEST and not self._spoke:
            return None  # a trial of one form, whose summary says it all
        name = self._rater.id if silent[0] is None else f"{self._rater.id}/{silent[0]}"
        return self._told(name, self._in_a_row[silent[0]], self._last[silent[0]])

    def _told(self, name: str, forms: int, cause: str) -> str:
        are = "1 form holds" if forms == 1 else f"{forms} forms in a row hold"
        return f"rater {name!r}: {are} no readable answer: {cause}"


def cause_of(reply: LLMReply | None, answers: Sequence[Response | Missing], protocol: RaterProtocol) -> str:
    """Return why a reply holds no answer, and what to change."""
    reason = next((one.reason for one in answers if isinstance(one, Missing)), "")
    if reply is None:
        return f"{reason}; change what it names, {AGAIN}"
    limit = "max_completion_tokens" if protocol.max_completion_tokens is not None else "max_tokens"
    beside = next((name for name in reply.elsewhere if name not in THOUGHTS), None)
    thought = next((name for name in reply.elsewhere if name in THOUGHTS), None)
    if reply.outcome == "refused":
        return (
            f"the model refuses ({reply.detail[:QUOTED]}); change the words of the form, or name another model, {AGAIN}"
        )
    half = protocol.reasoned and any(BROKE_OFF in one.reason for one in answers if isinstance(one, Missing))
    if half or (reply.outcome == "truncated" and protocol.readout != "logit"):
        where = f" within {thought}" if thought and not reply.text.strip() else ""
        return f"replies break off{where} at {limit} = {protocol.limit}; raise {limit} and run the command again"
    if not reply.text.strip() and beside is not None:
        return f"the content is empty and {beside} is filled; {_other_format(protocol)}, {AGAIN}"
    if not reply.text.strip() and thought is not None:
        return (
            f"the content is empty and {thought} is filled; switch thinking off (reasoning_effort, or extra_body = "
            "{ chat_template_kwargs = { enable_thinking = false } }) or the server's reasoning parser, "
            f"{AGAIN}"
        )
    if not reply.text.strip():
        return f"the content is empty ({reason}); {_other_format(protocol)}, {AGAIN}"
    if protocol.readout == "logit":
        return f'{reason}; set readout = "verbalised", {AGAIN}'
    return f"{reason}, such as {reply.text.strip()[:QUOTED]!r}; {_other_format(protocol)}, {AGAIN}"


def _other_format(protocol: RaterProtocol) -> str:
    """Return which other way of answering may be read."""
    if protocol.answer_format == "json":
        return 'name another model, or set answer_format = "text" with conversation = "question"'
    return 'set answer_format = "json"'
