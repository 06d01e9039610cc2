"""Adaptive rate limiting: concurrent requests, and requests a second.

Both are found by trying, as in TCP (Chiu and Jain 1989, Computer Networks and
ISDN Systems 17, 1-14): a little more with each answer, much less when the endpoint complains. An
endpoint that is too slow or unavailable gets fewer requests at once; one that says "too many" gets
the requests a second that it has been seen to answer.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from spa.raters.endpoints.endpoint import LLMReply

FEWER = 0.5  # of the requests at once, after a sign of overload
BELOW = 0.97  # of the rate that was answered, after "too many requests"
DRY = 2.0  # seconds of waiting where nothing is let through
FEW = 5  # requests at the new rate before a further complaint says something new
MINUTE = 60.0  # seconds that are remembered
PART = 0.5  # of a second
STEADY = 20.0  # seconds after a complaint in which the rate hardly grows
GROWTH = 0.002  # of the rate in a second, at first; faster with time
USED_UP = 1.0  # seconds, at most, of waiting for an announced limiter that is used up; then it is tried
LONGEST_PAUSE = 60.0  # seconds
OVERLOADED = ("timeout", "http_503", "http_529", "dropped")


@dataclass(slots=True, kw_only=True)
class RequestSlot:
    """One request that may be sent; ``reply`` is set when it has been answered."""

    began: float
    reply: LLMReply | None = None


class RateLimiter:
    """A rate limiter shared by all tasks of a run: ``most`` requests at once, ``rate`` a second where it is known."""

    def __init__(
        self,
        most: int,
        *,
        rate: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.most = most
        self.concurrency = float(most)
        self.rate = rate  # requests a second; None until the endpoint says "too many"
        self.complaints = 0  # replies that said "too many", or how long to wait
        self._clock = clock
        self._sleep = sleep
        self._under_way = 0
        self._slots = asyncio.Condition()
        self._turns = asyncio.Lock()
        self._paused_until = 0.0
        self._next = 0.0  # when the next request may begin
        self._since = clock()  # when the rate was last cut
        self._grown = self._since
        self._answers = AnswerRate(self._since)
        self._cut = self._since  # when requests at once were last cut

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[RequestSlot]:
        """Wait until a request may be sent; its reply adjusts the limits on leaving."""
        async with self._slots:
            await self._slots.wait_for(lambda: self._under_way < max(1, int(self.concurrency)))
            self._under_way += 1
        try:
            await self._turn()
            slot = RequestSlot(began=self._clock())
            yield slot
            if slot.reply is not None:
                self._note(slot.began, slot.reply)
        finally:
            async with self._slots:
                self._under_way -= 1
                self._slots.notify(2)  # one in its place, and one more where the number grows

    @property
    def pause(self) -> float:
        """How many seconds nothing is to be sent."""
        return max(0.0, self._paused_until - self._clock())

    def learn(self, rate: float | None, pause: float) -> None:
        """Adopt what another process found: requests a second, and how long to send nothing.

        Any thread may call it.
        """
        now = self._clock()
        self._paused_until = max(self._paused_until, now + pause)
        if self.rate is None and rate is not None:  # else what this process has found is nearer to its share
            self.rate, self._since, self._grown = rate, now, now

    async def _turn(self) -> None:
        """Wait until no pause is on and the rate allows one more request; one after the other."""
        async with self._turns:
            while (wait := max(self._next, self._paused_until) - (now := self._clock())) > 0:
                await self._sleep(wait)
                if self._clock() - now < wait / 2:  # a clock that does not follow the sleep, as in tests
                    break
            self._next = self._clock() + (0.0 if self.rate is None else 1 / self.rate)

    def _note(self, began: float, reply: LLMReply) -> None:
        now = self._clock()
        wait = reply.retry_after
        if reply.hint is not None and reply.hint.share_left == 0:
            wait = max(wait or 0.0, min(reply.hint.reset, USED_UP))
        if wait is not None:
            self._paused_until = max(self._paused_until, now + min(wait, LONGEST_PAUSE))
        self.complaints += reply.outcome == "http_429" or reply.retry_after is not None
        if reply.outcome == "http_429":
            self._too_many(began, now, wait or 0.0)
        elif reply.outcome in OVERLOADED:
            if began >= self._cut:  # those sent before the last cut say nothing new
                self.concurrency, self._cut = max(1.0, self.concurrency * FEWER), now
        elif reply.model_replied:
            self._answered_well(now)

    def _too_many(self, began: float, now: float, wait: float) -> None:
        """Go back to what was answered a second, lately or in the last minute, whichever is more."""
        settling = 0.0 if self.rate is None else max(1.0, FEW / self.rate)
        if began < self._since + settling and self.rate is not None:
            return  # it follows from what was sent before the rate was last cut
        lately = 2.0 if self.rate is None else min(max(2.0, 4 * FEW / self.rate), MINUTE)
        answered = self._answers.a_second(now, MINUTE)
        if wait <= lately:  # else what was let through lately was a burst, and the wait belongs to it
            answered = max(answered, self._answers.a_second(now, lately))
        if self.rate is None:
            self.rate = answered + self._under_way  # most of these will be answered too; the next complaint corrects it
        else:
            self.rate = min(BELOW * min(answered, self.rate) or self.rate * FEWER, self.rate)
        if self._answers.last < self._since:  # nothing at all is let through
            self._paused_until = max(self._paused_until, now + DRY)
        self._since = self._grown = now

    def _answered_well(self, now: float) -> None:
        self._answers.add(now)
        self.concurrency = min(float(self.most), self.concurrency + 1 / self.concurrency)
        if self.rate is not None:
            quiet = (now - self._since) / STEADY
            self.rate *= 1 + min(0.5, GROWTH * (1 + quiet**3) * (now - self._grown))
        self._grown = now


class AnswerRate:
    """How many requests were answered in the last minute, in parts of a second."""

    def __init__(self, began: float) -> None:
        self._began = began
        self.last = began  # when the last one came
        self._parts: deque[tuple[int, int]] = deque()  # number of the part, answers in it

    def add(self, now: float) -> None:
        """Count one answer."""
        self.last = now
        part = int(now / PART)
        last, count = self._parts[-1] if self._parts else (part - 1, 0)
        if last == part:
            self._parts[-1] = (part, count + 1)
            return
        self._parts.append((part, 1))
        while self._parts[0][0] < part - MINUTE / PART:
            self._parts.popleft()

    def a_second(self, now: float, seconds: float) -> float:
        """Return how many were answered a second in the last ``seconds``, which count as one at least."""
        first = max(int((now - seconds) / PART), int(self._began / PART))
        answered = sum(count for part, count in self._parts if part >= first)
        return answered / max(1.0, now - max(first * PART, self._began))
