"""Webhooks subscribed and confirmed, each once; an incomplete subscription is deleted and made again."""

from __future__ import annotations

from prolific.api.problems import ProlificError
from prolific.api.records import Subscription
from prolific.prolific_study import ProlificStudy
from prolific.study_body import ENTRY_PATH
from prolific.webhooks import SUBMISSION_CHANGED

EVENTS = (SUBMISSION_CHANGED, "study.status.change")


def hook_address(public_url: str) -> str:
    """Return where the survey server takes webhooks.

    >>> hook_address("https://survey.example.org/")
    'https://survey.example.org/prolific/hooks'
    """
    return f"{public_url.rstrip('/')}{ENTRY_PATH}/hooks"


def subscribe(prolific_study: ProlificStudy, public_url: str, *, new_secret: bool = False) -> tuple[Subscription, ...]:
    """Have the survey server told of submissions and studies.

    A signing secret is made only where the workspace has none, or where it is asked for: a new one
    replaces the old for all subscriptions of the workspace.
    """
    workspace_id = prolific_study.platform.workspace_of(prolific_study.table.project)
    if new_secret or not prolific_study.platform.hooks.secrets(workspace_id):
        prolific_study.platform.hooks.create_secret(workspace_id)
    address = hook_address(public_url)
    made = []
    for event in EVENTS:
        own = [
            one
            for one in prolific_study.platform.hooks.subscriptions(workspace_id)
            if one.target_url == address and one.event_type == event
        ]
        confirmed = [one for one in own if _confirmed(prolific_study, one)]
        for extra in [one for one in own if one not in confirmed[:1]]:
            prolific_study.platform.hooks.delete(extra.subscription_id)
        made.append(confirmed[0] if confirmed else _subscribe(prolific_study, workspace_id, event, address))
    return tuple(made)


def unsubscribe(prolific_study: ProlificStudy, public_url: str) -> int:
    """End the subscriptions of the survey server and return how many these were."""
    workspace_id = prolific_study.platform.workspace_of(prolific_study.table.project)
    address = hook_address(public_url)
    own = [one for one in prolific_study.platform.hooks.subscriptions(workspace_id) if one.target_url == address]
    for one in own:
        prolific_study.platform.hooks.delete(one.subscription_id)
    return len(own)


def _subscribe(prolific_study: ProlificStudy, workspace_id: str, event: str, address: str) -> Subscription:
    made = prolific_study.platform.hooks.subscribe(workspace_id, event, address)
    prolific_study.idempotent_calls.record(f"subscribe {event} {address}", {}, subscription_id=made.subscription_id)
    return made


def _confirmed(prolific_study: ProlificStudy, one: Subscription) -> bool:
    """Return whether a subscription was confirmed by this store: the platform does not say."""
    facts = prolific_study.idempotent_calls.done(f"subscribe {one.event_type} {one.target_url}")
    return facts is not None and facts.get("subscription_id") == one.subscription_id and one.enabled


def check_address(public_url: str) -> None:
    """Refuse an address that the platform could not reach."""
    if not public_url.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        raise ProlificError(f"webhooks: expected a public https address, got {public_url}")
