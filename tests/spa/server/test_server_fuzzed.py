"""The survey server is described by an OpenAPI document, and answers whatever is made up from it as it says."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.server.admin import AdminRoutes
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from spa.server.rate_limits import Limits, Rate
from spa.server.survey_routes import SurveyRoutes
from tests.spa.small_study import write_study

with warnings.catch_warnings():  # a library that it brings warns while it is imported
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

ADMIN = "a-token-of-the-administrator"
DOCUMENT = json.loads((Path(__file__).parents[3] / "docs" / "server-openapi.json").read_text())
OPERATIONS = [(path, method) for path, operations in DOCUMENT["paths"].items() for method in operations]
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]
UNLIMITED = Limits(requests=Rate(burst=1e9, a_second=1e9), new_visits=Rate(burst=1e9, a_second=1e9))


def test_the_document_has_every_route() -> None:
    routes = [*SurveyRoutes.routes.fget(_Routes()), *AdminRoutes.routes.fget(_Routes())]  # type: ignore[attr-defined]
    served_at = {(route.path, method.lower()) for route in routes for method in route.methods - {"HEAD"}}
    assert served_at == set(OPERATIONS)


class _Routes:
    """Any attribute is an endpoint."""

    context = SimpleNamespace(links_only=False)

    def __getattr__(self, name: str) -> object:
        """Return something that can be called."""
        return lambda request: None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Yield the address of a running server and a link of a person whose form is begun."""
    path = write_study(tmp_path_factory.mktemp("study"))
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    with open_workspace(path) as workspace:
        token = workspace.store.tokens()[0]
        workspace.store.visits.admit_link(token, now=0)
        with serve_on_loopback(create_app(workspace, admin_token=ADMIN, limits=UNLIMITED)) as url:
            yield url, token


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=lambda part: str(part))
def test_whatever_is_sent_is_answered_as_described(server: tuple[str, str], path: str, method: str) -> None:
    url, token = server
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    cases = schema[path][method.upper()].as_strategy()

    @settings(
        max_examples=30,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, known=st.booleans(), page=st.sampled_from(["p1", "p2", "p9"]), authorised=st.booleans())
    def answered(case: schemathesis.Case, known: bool, page: str, authorised: bool) -> None:
        if known:  # else only the first door would ever be tried
            for name, value in (("token", token), ("page_id", page)):
                if name in case.path_parameters:
                    case.path_parameters[name] = value
        headers = {"authorization": f"Bearer {ADMIN}"} if authorised else {}
        response = case.call(base_url=url, headers=headers, allow_redirects=False)
        case.validate_response(response, checks=CHECKS)

    answered()
