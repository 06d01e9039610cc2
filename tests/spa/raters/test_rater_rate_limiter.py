"""What an endpoint lets a run do is found out by trying, used up, and not exceeded; in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from spa.raters.endpoints.endpoint import LLMReply
from spa.raters.endpoints.rate_limit_headers import RateLimitHint, rate_limit_hint, seconds_of
from spa.raters.endpoints.rate_limiter import RateLimiter
from tests.spa.virtual_time import run_in_no_time

OK = LLMReply(outcome="answered")
TOLD = 0.1  # seconds until what one process has learned reaches the others


@dataclass
class Counted:
    """What an endpoint was sent: the moment and whether it was answered."""

    sent: list[tuple[float, str]] = field(default_factory=list)
    under_way: int = 0
    most: int = 0

    def share(self, outcome: str, since: float, until: float) -> float:
        """Return the share of an outcome."""
        within = [one for moment, one in self.sent if since <= moment < until]
        return within.count(outcome) / len(within)

    def rate(self, since: float, until: float) -> float:
        """Return how many were answered a second."""
        return sum(one == "answered" for moment, one in self.sent if since <= moment < until) / (until - since)


def bucket(rate: float, burst: float, wait: float | None) -> Callable[[float], LLMReply]:
    """Return an endpoint that lets ``rate`` requests a second pass, and ``burst`` of them at once."""
    state = {"left": burst, "at": 0.0}

    def answer(now: float) -> LLMReply:
        state["left"] = min(burst, state["left"] + (now - state["at"]) * rate)
        state["at"] = now
        if state["left"] < 1:
            return LLMReply(outcome="http_429", retry_after=wait)
        state["left"] -= 1
        return OK

    return answer


def window(rate: float, seconds: float, wait: bool) -> Callable[[float], LLMReply]:
    """Return an endpoint that counts requests in windows of some seconds."""
    state = {"window": -1.0, "count": 0.0}

    def answer(now: float) -> LLMReply:
        number = now // seconds
        if number != state["window"]:
            state.update(window=number, count=0)
        state["count"] += 1
        if state["count"] > rate * seconds:
            return LLMReply(outcome="http_429", retry_after=(number + 1) * seconds - now if wait else None)
        return OK

    return answer


async def drive(
    answer: Callable[[float], LLMReply], *, most: int, latency: float, until: float, processes: int = 1
) -> Counted:
    """Send as much as the limiter lets through; a request that is refused comes back after a second.

    Of several processes each has a limiter and its share of the places; what one learns the others know soon.
    """
    loop = asyncio.get_running_loop()
    clock = loop.time
    limiters = [RateLimiter(most // processes, clock=clock) for _ in range(processes)]
    counted = Counted()

    async def work(limiter: RateLimiter) -> None:
        while clock() < until:
            complaints = limiter.complaints
            async with limiter.slot() as slot:
                counted.under_way += 1
                counted.most = max(counted.most, counted.under_way)
                reply = answer(clock())
                counted.sent.append((clock(), reply.outcome))
                await asyncio.sleep(latency)
                counted.under_way -= 1
                slot.reply = reply
            if limiter.complaints > complaints:
                for other in limiters:
                    loop.call_later(TOLD, other.learn, limiter.rate, limiter.pause)
            if not reply.model_replied and reply.retry_after is None:
                await asyncio.sleep(1.0)

    await asyncio.gather(*(work(limiters[place % processes]) for place in range(most)))
    return counted


@pytest.mark.parametrize("most", [8, 64])
@pytest.mark.parametrize("latency", [0.02, 0.5])
@pytest.mark.parametrize(
    ("kind", "rate"),
    [("bucket", 10), ("bucket waits", 10), ("window", 12), ("window waits", 12), ("bucket", 80), ("minute waits", 4)],
)
def test_the_allowance_is_used_up_and_hardly_exceeded(kind: str, rate: float, latency: float, most: int) -> None:
    if kind.startswith("bucket"):
        answer = bucket(rate, rate, 1.0 if "waits" in kind else None)
    else:
        answer = window(rate, 60.0 if "minute" in kind else 1.0, "waits" in kind)
    warm, until = (240.0, 600.0) if "minute" in kind else (30.0, 150.0)
    counted = run_in_no_time(drive(answer, most=most, latency=latency, until=until))
    possible = min(rate, most / latency)
    assert counted.rate(warm, until) >= 0.9 * possible
    assert counted.share("http_429", warm, until) < 0.05
    assert counted.most <= most


@pytest.mark.parametrize("kind", ["bucket", "bucket waits", "window", "window waits"])
@pytest.mark.parametrize("processes", [2, 8])
def test_several_processes_use_the_allowance_up_together(kind: str, processes: int) -> None:
    waits = "waits" in kind
    answer = bucket(20, 20, 1.0 if waits else None) if kind.startswith("bucket") else window(20, 1.0, waits)
    counted = run_in_no_time(drive(answer, most=32, latency=0.2, until=150, processes=processes))
    assert counted.rate(30, 150) >= 0.9 * 20
    assert counted.share("http_429", 30, 150) < 0.05
    assert counted.most <= 32


def test_without_a_bound_every_place_is_used() -> None:
    counted = run_in_no_time(drive(lambda now: OK, most=16, latency=0.1, until=20))
    assert counted.most == 16
    assert counted.rate(1, 20) == pytest.approx(160, rel=0.02)


@pytest.mark.parametrize("outcome", ["timeout", "http_503", "dropped"])
def test_rate_limiter_overload_halves_places_once(outcome: str) -> None:
    """Overload halves the places once and answers give them back."""

    async def scenario() -> list[int]:
        limiter = RateLimiter(32, clock=asyncio.get_running_loop().time)
        seen = []

        async def one(reply: LLMReply) -> None:
            async with limiter.slot() as slot:
                await asyncio.sleep(1)
                slot.reply = reply

        for reply in (LLMReply(outcome=outcome), LLMReply(outcome=outcome), *([OK] * 40)):
            await asyncio.gather(*(one(reply) for _ in range(32)))
            seen.append(int(limiter.concurrency))
        return seen

    seen = run_in_no_time(scenario())
    assert seen[0] == 16
    assert seen[1] == 1  # each round that fails halves again
    assert seen[-1] == 32


def test_a_wait_holds_for_everybody() -> None:
    async def scenario() -> list[float]:
        clock = asyncio.get_running_loop().time
        limiter = RateLimiter(8, clock=clock)
        began = []

        async def one(number: int) -> None:
            async with limiter.slot() as slot:
                began.append(clock())
                await asyncio.sleep(0.1)
                slot.reply = LLMReply(outcome="http_503", retry_after=30.0) if number == 0 else OK

        await asyncio.gather(*(one(number) for number in range(20)))
        return began

    began = run_in_no_time(scenario())
    assert [moment < 30 for moment in began].count(True) == 8
    assert min(moment for moment in began if moment > 1) >= 30.1


def test_an_announced_end_of_the_allowance_is_heeded() -> None:
    async def scenario() -> float:
        clock = asyncio.get_running_loop().time
        limiter = RateLimiter(1, clock=clock)
        async with limiter.slot() as slot:
            slot.reply = replace(OK, hint=RateLimitHint(share_left=0.0, reset=0.4))
        async with limiter.slot():
            return float(clock())

    assert run_in_no_time(scenario()) == pytest.approx(0.4)


def test_headers_tell_the_scarcer_of_requests_and_tokens() -> None:
    headers = {
        f"x-ratelimit-{what}-{kind}": value
        for kind, values in {"requests": ("100", "50", "1s"), "tokens": ("1000", "0", "1m0.5s")}.items()
        for what, value in zip(("limit", "remaining", "reset"), values, strict=True)
    }
    assert rate_limit_hint(headers) == RateLimitHint(share_left=0.0, reset=60.5)
    assert rate_limit_hint({}) is None
    assert rate_limit_hint({**headers, "x-ratelimit-limit-tokens": "nan"}) == RateLimitHint(share_left=0.5, reset=1.0)
    assert [seconds_of(text) for text in ("", "1x", "1h2m3s", "5")] == [None, None, 3723.0, 5.0]
