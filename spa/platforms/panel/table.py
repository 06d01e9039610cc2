"""The table ``[panel]``: people come by a link with their id in it and leave by a redirect."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError

from spa.errors import StudyError
from spa.records.platforms import platform_keys
from spa.records.problems import StudyProblem, mistake, quote, repeated
from spa.records.toml_table import TomlTable
from spa.study.schema_errors import schema_errors

KEY = "panel"
# {code}, {participant} and {session} may follow the host; no other braces, no spaces, nothing that breaks a header.
ADDRESS = (
    r'^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?([/?]([^\s{}"<>\\^`|\x00-\x1f\x7f-\x9f]|\{(code|participant|session)\})*)?$'
)
OTHER_ANNOTATORS = ("rater", "simulated", "human", "llm")  # sources of answers that no panel sends
Parameter = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")]
RedirectUrl = Annotated[str, StringConstraints(pattern=ADDRESS, max_length=2000)]


class PanelRedirects(TomlTable):
    """Where a browser goes by outcome; without an address, people see the study's own last page."""

    completed: RedirectUrl = Field(description="return address, with `{code}`, `{participant}`, `{session}`")
    screened_out: RedirectUrl | None = Field(None, description="for those screened out; none: the last page")
    no_consent: RedirectUrl | None = Field(None, description="without consent")
    failed_checks: RedirectUrl | None = Field(None, description="after failed attention checks")
    quota_full: RedirectUrl | None = Field(None, description="for a full group")


class Panel(TomlTable):
    """A panel that people come from, such as CloudResearch Connect, SONA or a university's own pool."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")] = Field(
        description="the source in the table of annotators"
    )
    participant: Parameter = Field("participant", description="parameter with the participant's id")
    session: Parameter | None = Field(None, description="parameter with the id of this participation")
    study: Parameter | None = Field(None, description="parameter with the panel's id of the study")
    study_id: Annotated[str, StringConstraints(min_length=1)] | None = Field(None, description="what `study` must be")
    secret_env: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,79}$")] | None = Field(
        None, description="environment variable with the secret that signs links"
    )
    signature: Parameter = Field("signature", description="parameter with the signature")
    redirects: PanelRedirects = Field(description="`[panel.redirects]`")


class _PanelFile(TomlTable):
    """The part of a study file that is the panel's."""

    panel: Panel


def read_panel(raw: Mapping[str, Any], file: str) -> Panel:
    """Check the table ``[panel]`` of a study file.

    Raises
    ------
    StudyError
        With every mistake, one line each.
    """
    own = {KEY: raw}
    try:
        panel = _PanelFile.model_validate_json(json.dumps(own), strict=True).panel
    except ValidationError as error:
        raise StudyError(*schema_errors(file, own, error, _PanelFile)) from error
    problems = [f"{file}: {problem.message}" for problem in _problems(panel)]
    if problems:
        raise StudyError(*problems)
    return panel


def _problems(panel: Panel) -> Iterator[StudyProblem]:
    reserved = (*(key for key in platform_keys() if key != KEY), *OTHER_ANNOTATORS)
    if panel.name in reserved:
        expected = f"a name other than {', '.join(reserved)}"
        yield mistake("[panel] name", expected, quote(panel.name), "choose another name")
    if (panel.study is None) != (panel.study_id is None):
        given, absent = ("study", "study_id") if panel.study_id is None else ("study_id", "study")
        yield mistake(f"[panel] {given}", f"{absent} beside it", "none", f"add {absent}, or remove {given}")
    if panel.session is None and any("{session}" in str(address) for _, address in panel.redirects):
        yield mistake("[panel.redirects]", "session in [panel] where {session} is used", "none", "name its parameter")
    signature = None if panel.secret_env is None else panel.signature
    if signature is None and "signature" in panel.model_fields_set:
        yield mistake("[panel] signature", "secret_env beside it", "none", "add secret_env, or remove signature")
    parameters = [one for one in (panel.participant, panel.session, panel.study, signature) if one is not None]
    yield from repeated("[panel] participant, session, study, signature", parameters)
