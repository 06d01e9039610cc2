"""A connection to Anthropic by its client library; each call is one request."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from spa.addresses import is_loopback
from spa.raters.endpoints.bounded_replies import BoundedReplies
from spa.raters.endpoints.endpoint import LLMReply, mapping
from spa.raters.endpoints.http_endpoint import CONNECT_SECONDS, readable, ssl_context
from spa.raters.endpoints.keys import without_password
from spa.raters.endpoints.rate_limit_headers import RateLimitHint, rate_limit_hint
from spa.raters.endpoints.sdk_endpoint import BROKEN, SDKApi, SDKEndpoint, check_installed, lost
from spa.raters.vendors.anthropic import MESSAGE, STATUSES, messages_of, parameters
from spa.records.raters import Rater

API = SDKApi(
    extra="anthropic",
    library="anthropic",
    module="anthropic",
    url="https://api.anthropic.com",
    key_variable="ANTHROPIC_API_KEY",
    messages=messages_of,
    parameters=parameters,
    replies=MESSAGE,
)
NAMES = ("limit", "remaining", "reset")  # of what the limiter says
LONGEST_WHOLE = 21_333  # tokens of an answer that may come whole: by the library's reckoning, ten minutes


class AnthropicEndpoint(SDKEndpoint):
    """A connection to the endpoint of one rater."""

    def __init__(self, rater: Rater, *, timeout: float = 180.0, **given: Any) -> None:
        super().__init__(rater, API, **given)
        import anthropic

        class Client(BoundedReplies, anthropic.DefaultAioHttpClient):  # type: ignore[misc]  # of a library that may be absent
            """The library's client, whose replies end."""

        self.errors = (anthropic.APIError, *BROKEN)
        self._timed_out, self._refused = anthropic.APITimeoutError, anthropic.APIStatusError
        # Redirects are not followed: a request that is paid for goes where the study says, or nowhere.
        trusts = not is_loopback(self.base_url)
        context = ssl_context(trusts, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        self.client = anthropic.AsyncAnthropic(
            base_url=self.base_url.rstrip("/").removesuffix("/v1"),  # the library adds it
            api_key=self._key,
            default_headers=self._headers,
            default_query=self._query,
            max_retries=0,  # every request is an attempt of ours, recorded as such; it makes two more
            timeout=anthropic.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout)),
            http_client=Client(verify=context, trust_env=trusts, follow_redirects=False),
        )
        self._arguments = frozenset(inspect.signature(self.client.messages.create).parameters)

    async def __aexit__(self, *error: object) -> None:
        await self.client.close()

    async def send(self, body: dict[str, Any]) -> LLMReply:
        """Send one request; what the library makes of a reply is not looked at, as it raises on some that are paid."""
        known = {name: value for name, value in body.items() if name in self._arguments}
        rest = {name: value for name, value in body.items() if name not in self._arguments}
        if body["max_tokens"] > LONGEST_WHOLE:
            async with self.client.messages.stream(**known, extra_body=rest or None) as stream:
                message = await stream.get_final_message()
                return self.read(message.to_json(indent=None), MESSAGE)
        raw = await self.client.messages.with_raw_response.create(**known, extra_body=rest or None)
        return replace(self.read(raw.http_response.text, MESSAGE), hint=hint_of(raw.http_response.headers))

    def failure(self, error: Exception) -> LLMReply | None:
        """Return what an error of the library means."""
        if not isinstance(error, self._refused):
            return LLMReply(outcome="timeout", detail=str(error)) if self._is_late(error) else None
        whole = error.status_code >= 300  # else an error among the parts of an answer
        body = error.response.text if whole else json.dumps(error.body)
        problem = mapping(mapping(error.body).get("error"))
        kind, message = str(problem.get("type") or ""), str(problem.get("message") or "") or readable(body)
        status = error.status_code if whole else STATUSES.get(kind, 500)
        location = error.response.headers.get("location")
        if location is not None and status < 400:
            message = f"go to {without_password(location)}"
        code = "insufficient_quota" if "credit balance" in message else kind
        found = self.refused_with(status, code, message, body, error.response.headers)
        if found.outcome == "http_400" and "output_config" in message:
            found = replace(found, outcome="no_schema")
        return replace(found, hint=hint_of(error.response.headers))

    def _is_late(self, error: Exception) -> bool:
        return isinstance(error, self._timed_out) and lost(error) != "connection"


def open_endpoint(rater: Rater, *, timeout: float) -> AnthropicEndpoint:
    """Return the connection of a rater; a library that is missing is named."""
    check_installed(rater, API)
    return AnthropicEndpoint(rater, timeout=timeout)


def hint_of(headers: Mapping[str, str]) -> RateLimitHint | None:
    """Read what the API says of its limiter; ``None`` where that is absent or odd."""
    found = {}
    for kind in ("requests", "tokens"):
        limit, left, reset = (headers.get(f"anthropic-ratelimit-{kind}-{name}") for name in NAMES)
        if limit is None or left is None or reset is None:
            continue
        try:
            until = datetime.fromisoformat(reset)
        except ValueError:
            continue
        seconds = max(0.0, (until - datetime.now(until.tzinfo)).total_seconds())
        found[f"x-ratelimit-limit-{kind}"], found[f"x-ratelimit-remaining-{kind}"] = limit, left
        found[f"x-ratelimit-reset-{kind}"] = f"{seconds:.3f}"
    return rate_limit_hint(found) if found else None
