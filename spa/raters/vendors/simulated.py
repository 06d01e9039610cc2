"""The simulated rater, asked by chat completions: :mod:`spa.simulation.simulated_endpoint` answers on this machine."""

from __future__ import annotations

from spa.raters.endpoints.chat_completions import CHAT_API, CHAT_COMPLETION
from spa.raters.endpoints.http_api import OPENAI_KEYS
from spa.raters.vendors.vendor import Vendor, over_http
from spa.records.submission import SIMULATED_RATER

SIMULATED = Vendor(
    key="simulated",
    about="the simulated rater",
    open=over_http(CHAT_API),
    replies=CHAT_COMPLETION,
    model=SIMULATED_RATER,
    own_keys=OPENAI_KEYS,
    limit_keys=("max_tokens", "max_completion_tokens"),
    probed=False,
    notes=("the answers are simulated; no LLM was asked",),
)
