"""The table ``[panel]``: people come by a link with their id in it and leave by a redirect."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from spa.study.toml_table import TomlTable, added

# {code}, {participant} and {session} may follow the host; no other braces, no spaces, nothing that breaks a header.
ADDRESS = (
    r'^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?([/?]([^\s{}"<>\\^`|\x00-\x1f\x7f-\x9f]|\{(code|participant|session)\})*)?$'
)
Parameter = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")]
RedirectUrl = Annotated[str, StringConstraints(pattern=ADDRESS, max_length=2000)]


class PanelRedirects(TomlTable):
    """Where a browser goes by outcome; without an address, people see the study's own last page."""

    completed: RedirectUrl
    screened_out: RedirectUrl | None = None
    no_consent: RedirectUrl | None = None
    failed_checks: RedirectUrl | None = None
    quota_full: RedirectUrl | None = None


class Panel(TomlTable):
    """A panel that people come from, such as CloudResearch Connect, SONA or a university's own pool."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]  # the source in tables
    participant: Parameter = "participant"  # the address's parameter with the participant's id
    session: Parameter | None = None  # the parameter with the id of this participation
    study: Parameter | None = None  # the parameter with the panel's id of the study, which must be
    study_id: Annotated[str, StringConstraints(min_length=1)] | None = None
    secret_env: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,79}$")] | None = added(None)
    signature: Parameter = added("signature")  # the parameter with the signature of a link
    redirects: PanelRedirects
