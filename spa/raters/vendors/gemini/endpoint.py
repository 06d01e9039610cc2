"""A connection to Gemini by Google's client library; each call is one request."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import aiohttp
from pydantic import ValidationError

from spa.addresses import is_loopback
from spa.errors import PlatformError
from spa.raters.endpoints.endpoint import LLMReply, listed, mapping
from spa.raters.endpoints.http_endpoint import CONNECT_SECONDS, readable
from spa.raters.endpoints.rate_limit_headers import seconds_of
from spa.raters.endpoints.sdk_endpoint import BROKEN, SDKApi, SDKEndpoint, check_installed
from spa.raters.vendors.gemini import RESPONSE, messages_of, parameters
from spa.records.raters import Rater, rater_variants

API = SDKApi(
    extra="gemini",
    library="google-genai",
    module="google.genai",
    url="https://generativelanguage.googleapis.com",
    key_variable="GEMINI_API_KEY",
    messages=messages_of,
    parameters=parameters,
    replies=RESPONSE,
)
VERSIONS = ("v1", "v1beta", "v1alpha")  # of the API, the first where an address ends with none
SCHEMA_WORDS = ("response_json_schema", "responseJsonSchema", "response_schema", "responseSchema")


class GeminiEndpoint(SDKEndpoint):
    """A connection to the endpoint of one rater."""

    def __init__(self, rater: Rater, *, timeout: float = 180.0, **given: Any) -> None:
        super().__init__(rater, API, **given)
        from google.genai import errors, types

        if rater.query:
            raise PlatformError(f"rater {rater.id!r}, query: expected none: Gemini's library sends none; remove it")
        self._types = types
        self._check(rater)
        self._refused = errors.APIError
        self.errors = (errors.APIError, *BROKEN)
        address, _, last = self.base_url.rstrip("/").rpartition("/")
        self._address, self._version = (address, last) if last in VERSIONS else (self.base_url.rstrip("/"), VERSIONS[0])
        self._seconds = timeout
        self.client: Any = None  # where it is open

    async def __aenter__(self) -> Self:
        from google import genai

        limit = aiohttp.ClientTimeout(total=self._seconds, connect=min(CONNECT_SECONDS, self._seconds))
        self._session = aiohttp.ClientSession(trust_env=not is_loopback(self.base_url), timeout=limit)
        self.client = genai.Client(
            api_key=self._key,
            vertexai=False,
            http_options=self._types.HttpOptions(
                base_url=self._address,
                api_version=self._version,
                headers=self._headers,
                timeout=int(1000 * self._seconds),
                # Every request is an attempt of ours, recorded as such; without this the library sends a second one
                # where a connection breaks off.
                retry_options=self._types.HttpRetryOptions(attempts=1),
                # Redirects are not followed: a request that is paid for goes where the study says, or nowhere.
                async_client_args={"allow_redirects": False},
                aiohttp_client=self._session,
            ),
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        if self.client is not None:
            self.client.close()
            await self._session.close()
            self.client = None

    def _check(self, rater: Rater) -> None:
        """Refuse keys that the library does not know, before anything is sent."""
        for asked in rater_variants(rater):
            try:
                self._types.GenerateContentConfig.model_validate(dict(asked.protocol.extra_body or {}))
            except ValidationError as error:
                key = ".".join(map(str, error.errors()[0]["loc"]))
                expected = "a key and a value that google-genai knows (GenerateContentConfig)"
                raise PlatformError(
                    f"rater {asked.name!r}, extra_body.{key}: expected {expected}, got another; correct it"
                ) from error

    async def send(self, body: dict[str, Any]) -> LLMReply:
        """Send one request; the response is read by us, from the text that came."""
        config = {**settings(body), "should_return_http_response": True}
        response = await self.client.aio.models.generate_content(
            model=body["model"], contents=contents(body), config=config
        )
        return self.read(response.sdk_http_response.body or "", RESPONSE)

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        """Return what the API says of something, as it says it; nothing is begun by it."""
        url, headers = f"{self._address}/{self._version}/{path}", {**self._headers, "x-goog-api-key": self._key}
        async with self._session.get(url, params=query, headers=headers, allow_redirects=False) as response:
            text = await response.text()
        try:
            found = mapping(json.loads(text))
        except (ValueError, RecursionError):
            found = {"error": {"message": readable(text)}}
        if response.status != 200:
            raise self._refused(response.status, found)
        return found

    def failure(self, error: Exception) -> LLMReply | None:
        """Return what an error of the library means."""
        if not isinstance(error, self._refused):
            return None
        body = json.dumps(error.details, ensure_ascii=False)
        problem = mapping(mapping(error.details).get("error"))
        message = str(error.message or "") or readable(body)
        status = 401 if "API_KEY_INVALID" in body else int(error.code or 500)
        return self.refused(status, {**problem, "message": message}, body)

    def refused(self, status: int, error: Mapping[str, Any], body: str) -> LLMReply:
        """Return what an error means, alone or as a result of a batch."""
        message, details = str(error.get("message") or ""), [mapping(one) for one in listed(error.get("details"))]
        by_day = status == 429 and "PerDay" in json.dumps(details)
        found = self.refused_with(status, "insufficient_quota" if by_day else "", message, body)
        if found.outcome == "http_400" and any(word in message for word in SCHEMA_WORDS):
            found = replace(found, outcome="no_schema")
        wait = next((one["retryDelay"] for one in details if isinstance(one.get("retryDelay"), str)), "")
        return replace(found, retry_after=seconds_of(wait))


def settings(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the library takes as ``config``."""
    return {name: value for name, value in body.items() if name not in ("model", "contents")}


def contents(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the conversation with the bytes of files, which the library encodes by itself."""
    return [{**one, "parts": [_as_bytes(part) for part in one["parts"]]} for one in body["contents"]]


def _as_bytes(part: dict[str, Any]) -> dict[str, Any]:
    if (held := part.get("inline_data")) is None:
        return part
    return {"inline_data": {**held, "data": base64.b64decode(held["data"])}}


def open_endpoint(rater: Rater, *, timeout: float) -> GeminiEndpoint:
    """Return the connection of a rater; a library that is missing is named."""
    check_installed(rater, API)
    return GeminiEndpoint(rater, timeout=timeout)
