"""Operations on the researcher's account: user, workspaces, projects and balance."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictStr
from sqlalchemy import Row, Table

from prolific.emulator import schema, wallet
from prolific.emulator.errors import REQUIRED, EmulatorRequestError, invalid
from prolific.emulator.request_transaction import RequestTransaction, setting
from prolific.emulator.routing import Route, RouteRequest, paginate
from prolific.emulator.study_body import RequestBody
from prolific.emulator.wallet import whole

EMAIL = "researcher@example.org"
WORKSPACES = "/api/v1/workspaces/"
WORKSPACE = WORKSPACES + "{workspace_id}/"
PROJECT = "/api/v1/projects/{project_id}/"


class _WorkspaceBody(RequestBody):
    title: Annotated[StrictStr, Field(min_length=1)]
    naivety_distribution_rate: Annotated[float | None, Field(ge=0, le=1)] = None
    currency_code: Annotated[StrictStr, Field(pattern="^(USD|GBP)$")] = "USD"


class TitleBody(RequestBody):
    """Title and description of a workspace or project; the description lists the id, which cannot be changed."""

    id: StrictStr | None = None
    title: Annotated[StrictStr | None, Field(min_length=1)] = None
    description: StrictStr | None = None
    naivety_distribution_rate: Annotated[float | None, Field(ge=0, le=1)] = None


def find_workspace(tx: RequestTransaction, workspace_id: str) -> Row[Any]:
    """Return a workspace, or refuse the request."""
    return tx.find(schema.workspaces, workspace_id, "Workspace")


def find_project(tx: RequestTransaction, project_id: str) -> Row[Any]:
    """Return a project, or refuse the request."""
    return tx.find(schema.projects, project_id, "Project")


def _own_workspace(tx: RequestTransaction, call: RouteRequest) -> Row[Any]:
    return find_workspace(tx, call.path["workspace_id"])


def _own_project(tx: RequestTransaction, call: RouteRequest) -> Row[Any]:
    return find_project(tx, call.path["project_id"])


def _user(tx: RequestTransaction, call: RouteRequest) -> Any:
    workspaces = tx.rows(schema.workspaces)
    if not workspaces:
        raise EmulatorRequestError(404, "There is no workspace")
    balance = wallet.balance(tx, workspaces[0])
    return {
        "id": setting(tx.connection, "user"),
        "email": EMAIL,
        "name": "Emulated researcher",
        "currency_code": workspaces[0].currency,
        "balance": whole(balance.total),
        "available_balance": whole(balance.available),
    }


def _create_workspace(tx: RequestTransaction, call: RouteRequest) -> Any:
    asked = call.read(_WorkspaceBody)
    return _workspace(tx, tx.insert(schema.workspaces, title=asked.title, currency=asked.currency_code, paid_in=0))


def _balance(tx: RequestTransaction, call: RouteRequest) -> Any:
    row = _own_workspace(tx, call)
    balance = wallet.balance(tx, row)
    return {
        "currency_code": row.currency,
        "total_balance": whole(balance.total),
        "balance_breakdown": wallet.parts(tx, balance.total),
        "available_balance": whole(balance.available),
        "available_balance_breakdown": wallet.parts(tx, balance.available),
    }


def _create_project(tx: RequestTransaction, call: RouteRequest) -> Any:
    workspace, asked = _own_workspace(tx, call), call.read(TitleBody)
    if asked.title is None:
        raise invalid(title=REQUIRED)
    named = {"title": asked.title, "description": asked.description or ""}
    return _project(tx, tx.insert(schema.projects, workspace_id=workspace.id, **named))


def _rename(tx: RequestTransaction, call: RouteRequest, table: Table, row: Row[Any]) -> Row[Any]:
    asked = call.read(TitleBody)
    if asked.id not in (None, row.id):
        raise invalid(id="This cannot be changed.")
    values = asked.model_dump(include={"title", "description"}, exclude_none=True)
    return tx.update(table, row.id, **values) if values else row


def _projects(tx: RequestTransaction, workspace: Row[Any]) -> Any:
    return tx.rows(schema.projects, schema.projects.c.workspace_id == workspace.id)


def _short(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    user = setting(tx.connection, "user")
    return {
        "id": row.id,
        "title": row.title,
        "description": row.description,
        "owner": user,
        "users": [{"id": user, "name": "Emulated researcher", "email": EMAIL, "roles": ["WORKSPACE_ADMIN"]}],
        "naivety_distribution_rate": None,
    }


def _workspace(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    return {**_short(tx, row), "projects": [_short(tx, one) for one in _projects(tx, row)], "wallet": row.id}


def _project(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    return {**_short(tx, row), "workspace": row.workspace_id}


def _list_projects(tx: RequestTransaction, call: RouteRequest) -> Any:
    return paginate(tx, call, _projects(tx, _own_workspace(tx, call)), _short)


def _change_workspace(tx: RequestTransaction, call: RouteRequest) -> Any:
    return _workspace(tx, _rename(tx, call, schema.workspaces, _own_workspace(tx, call)))


def _change_project(tx: RequestTransaction, call: RouteRequest) -> Any:
    return _project(tx, _rename(tx, call, schema.projects, _own_project(tx, call)))


ROUTES = (
    Route("GetUser", "GET", "/api/v1/users/me/", _user),
    Route("GetWorkspaces", "GET", WORKSPACES, lambda tx, call: paginate(tx, call, tx.rows(schema.workspaces), _short)),
    Route("CreateWorkspace", "POST", WORKSPACES, _create_workspace, 201),
    Route("GetWorkspace", "GET", WORKSPACE, lambda tx, call: _workspace(tx, _own_workspace(tx, call))),
    Route("UpdateWorkspace", "PATCH", WORKSPACE, _change_workspace),
    Route("GetWorkspaceBalance", "GET", WORKSPACE + "balance/", _balance),
    Route("GetProjects", "GET", WORKSPACE + "projects/", _list_projects),
    Route("CreateProject", "POST", WORKSPACE + "projects/", _create_project, 201),
    Route("GetProject", "GET", PROJECT, lambda tx, call: _project(tx, _own_project(tx, call))),
    Route("UpdateProject", "PATCH", PROJECT, _change_project),
)
