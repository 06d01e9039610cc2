"""MTurk's requester protocol as a platform: all that other packages know of it."""

from spa.records.platforms import Platform, late

PLATFORM = Platform(
    key="mturk",
    title="MTurk protocol",
    record="mturk.settings:MTurkTable",
    read=late("mturk.settings:read_settings"),
    own_commands=True,
    page="hits.md",
    shown=("title", "description", "keywords"),
    mount=late("mturk.routes:mount"),
    review_rules=late("mturk.review_rules:review_rules"),
    recruited="As workers of an endpoint that speaks the MTurk protocol.",
    knows_people=True,
)
