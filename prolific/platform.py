"""Prolific as a platform: all that other packages know of it."""

from decimal import Decimal

from spa.records.platforms import Platform, late

PLATFORM = Platform(
    key="prolific",
    title="Prolific",
    record="prolific.settings:ProlificTable",
    read=late("prolific.settings:read_table"),
    suit=late("prolific.offer:offer_of"),
    own_commands=True,
    page="prolific.md",
    shown=("title", "description"),
    mount=late("prolific.routes:mount"),
    review_rules=late("prolific.review_rules:review_rules"),
    minimum_hourly_pay={"USD": Decimal(8), "GBP": Decimal(6)},  # 2026
    recruited="Through the platform Prolific.",
    knows_people=True,
)
