"""Chat completions over HTTP: what any OpenAI-compatible server offers; in batches, OpenAI's batch files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spa.raters.endpoints.chat_completions import CHAT_API, CHAT_COMPLETION
from spa.raters.endpoints.http_api import OPENAI_KEYS
from spa.raters.vendors.vendor import Vendor, over_http

if TYPE_CHECKING:
    from spa.journal import Journal
    from spa.raters.endpoints.http_endpoint import HTTPEndpoint
    from spa.raters.vendors.batches import Batches


def _batches(endpoint: HTTPEndpoint, journal: Journal) -> Batches:
    from spa.raters.vendors.chat_batches import BatchFiles

    return BatchFiles(endpoint, journal)


CHAT = Vendor(
    key="chat",
    about="OpenAI-compatible endpoints",
    open=over_http(CHAT_API),
    replies=CHAT_COMPLETION,
    own_keys=OPENAI_KEYS,
    limit_keys=("max_tokens", "max_completion_tokens"),
    several=True,
    batch_key="batch",
    batch_about="OpenAI's batch files",
    batches=_batches,
)
