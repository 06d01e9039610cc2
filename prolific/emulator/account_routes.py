"""The operations on the researcher's own things: user, workspaces, projects, money."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictStr
from sqlalchemy import Row, select

from prolific.emulator import schema, wallet
from prolific.emulator.errors import EmulatorRequestError
from prolific.emulator.fees import whole
from prolific.emulator.ids import new_id
from prolific.emulator.request_transaction import RequestTransaction, setting
from prolific.emulator.routing import RouteRequest, RouteResponse, Routes, paginate
from prolific.emulator.study_body import RequestBody

routes = Routes()
EMAIL = "researcher@example.org"


class WorkspaceBody(RequestBody):
    """A new workspace."""

    title: Annotated[StrictStr, Field(min_length=1)]
    naivety_distribution_rate: Annotated[float | None, Field(ge=0, le=1)] = None
    currency_code: Annotated[StrictStr, Field(pattern="^(USD|GBP)$")] = "USD"


class TitleBody(RequestBody):
    """What a workspace or a project is called; the id is described as required, and cannot be changed."""

    id: StrictStr | None = None
    title: Annotated[StrictStr | None, Field(min_length=1)] = None
    description: StrictStr | None = None
    naivety_distribution_rate: Annotated[float | None, Field(ge=0, le=1)] = None


def find_workspace(tx: RequestTransaction, workspace_id: str) -> Row[Any]:
    """Return a workspace, or refuse."""
    return tx.find(schema.workspaces, workspace_id, "Workspace")


def find_project(tx: RequestTransaction, project_id: str) -> Row[Any]:
    """Return a project, or refuse."""
    return tx.find(schema.projects, project_id, "Project")


@routes.add("GetUser", "GET", "/api/v1/users/me/")
def show_user(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show whose token it is."""
    workspace = tx.connection.execute(select(schema.workspaces).order_by(schema.workspaces.c.number)).first()
    if workspace is None:
        raise EmulatorRequestError(404, "There is no workspace")
    balance = wallet.balance(tx, workspace)
    return RouteResponse(
        body={
            "id": setting(tx.connection, "user"),
            "email": EMAIL,
            "name": "Emulated researcher",
            "currency_code": workspace.currency,
            "balance": whole(balance.total),
            "available_balance": whole(balance.available),
        }
    )


@routes.add("GetWorkspaces", "GET", "/api/v1/workspaces/")
def list_workspaces(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List workspaces."""
    rows = tx.connection.execute(select(schema.workspaces).order_by(schema.workspaces.c.number)).all()
    return paginate(tx, call, rows, lambda row: _short(tx, row))


@routes.add("CreateWorkspace", "POST", "/api/v1/workspaces/")
def create_workspace(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Keep a new workspace, with an empty wallet."""
    asked = call.read(WorkspaceBody)
    workspace = new_id()
    tx.insert(
        schema.workspaces, id=workspace, title=asked.title, description="", currency=asked.currency_code, paid_in=0
    )
    return RouteResponse(status=201, body=_shown(tx, find_workspace(tx, workspace)))


@routes.add("GetWorkspace", "GET", "/api/v1/workspaces/{workspace_id}/")
def show_workspace(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show a workspace."""
    return RouteResponse(body=_shown(tx, find_workspace(tx, call.path["workspace_id"])))


@routes.add("UpdateWorkspace", "PATCH", "/api/v1/workspaces/{workspace_id}/")
def change_workspace(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Change what a workspace is called."""
    row = find_workspace(tx, call.path["workspace_id"])
    _rename(tx, schema.workspaces, row.id, call.read(TitleBody))
    return RouteResponse(body=_shown(tx, find_workspace(tx, row.id)))


@routes.add("GetWorkspaceBalance", "GET", "/api/v1/workspaces/{workspace_id}/balance/")
def show_balance(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show the money of a workspace."""
    row = find_workspace(tx, call.path["workspace_id"])
    balance = wallet.balance(tx, row)
    return RouteResponse(
        body={
            "currency_code": row.currency,
            "total_balance": whole(balance.total),
            "balance_breakdown": wallet.parts(tx, balance.total),
            "available_balance": whole(balance.available),
            "available_balance_breakdown": wallet.parts(tx, balance.available),
        }
    )


@routes.add("GetProjects", "GET", "/api/v1/workspaces/{workspace_id}/projects/")
def list_projects(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """List the projects of a workspace."""
    workspace = find_workspace(tx, call.path["workspace_id"])
    c = schema.projects.c
    rows = tx.connection.execute(select(schema.projects).where(c.workspace_id == workspace.id).order_by(c.number)).all()
    return paginate(tx, call, rows, lambda row: _short(tx, row))


@routes.add("CreateProject", "POST", "/api/v1/workspaces/{workspace_id}/projects/")
def create_project(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Keep a new project."""
    workspace = find_workspace(tx, call.path["workspace_id"])
    asked = call.read(TitleBody)
    if asked.title is None:
        raise EmulatorRequestError(400, {"title": ["This field is required."]})
    project = new_id()
    tx.insert(
        schema.projects, id=project, workspace_id=workspace.id, title=asked.title, description=asked.description or ""
    )
    return RouteResponse(status=201, body=_project(tx, find_project(tx, project)))


@routes.add("GetProject", "GET", "/api/v1/projects/{project_id}/")
def show_project(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show a project."""
    return RouteResponse(body=_project(tx, find_project(tx, call.path["project_id"])))


@routes.add("UpdateProject", "PATCH", "/api/v1/projects/{project_id}/")
def change_project(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Change what a project is called."""
    row = find_project(tx, call.path["project_id"])
    _rename(tx, schema.projects, row.id, call.read(TitleBody))
    return RouteResponse(body=_project(tx, find_project(tx, row.id)))


def _rename(tx: RequestTransaction, table: Any, row_id: str, asked: TitleBody) -> None:
    if asked.id not in (None, row_id):
        raise EmulatorRequestError(400, {"id": ["This cannot be changed."]})
    named = {"title": asked.title, "description": asked.description}
    values = {name: value for name, value in named.items() if value is not None}
    if values:
        tx.update(table, row_id, **values)


def _short(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    user = setting(tx.connection, "user")
    people = [{"id": user, "name": "Emulated researcher", "email": EMAIL, "roles": ["WORKSPACE_ADMIN"]}]
    return {
        "id": row.id,
        "title": row.title,
        "description": row.description,
        "owner": user,
        "users": people,
        "naivety_distribution_rate": None,
    }


def _shown(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    c = schema.projects.c
    projects = tx.connection.execute(select(schema.projects).where(c.workspace_id == row.id).order_by(c.number))
    return {**_short(tx, row), "projects": [_short(tx, one) for one in projects.all()], "wallet": row.id}


def _project(tx: RequestTransaction, row: Row[Any]) -> dict[str, Any]:
    return {**_short(tx, row), "workspace": row.workspace_id}
