"""Any panel that sends people to a link with their id and takes them back by a redirect: CloudResearch Connect, SONA.

The panel itself pays them, so it has neither commands nor review rules.
"""

from spa.records.platforms import Platform, late

PLATFORM = Platform(
    key="panel",
    title="the panel",
    record="spa.platforms.panel.table:Panel",
    read=late("spa.platforms.panel.table:read_panel"),
    page="study-file.md",
    secret=("redirects",),
    mount=late("spa.platforms.panel.routes:mount"),
)
