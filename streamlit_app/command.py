"""``spa dashboard``: monitor a study, review its submissions and explore its results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analysis.commands.reading_options import print_found, reading_of, reading_options, role_option
from spa.commands.options import (
    DEFAULT_STUDY,
    INPUT,
    Aliased,
    StudyPath,
    given_options,
    host_option,
    port_option,
    rehearsal_option,
    store_option,
)

if TYPE_CHECKING:
    from spa.responses.dashboard_log import DashboardAction
    from spa.responses.reviewer_secrets import DashboardRole
    from spa.responses.store import Store
    from streamlit_app.access import PrintedLink


@click.command(
    epilog="""\b
Examples:
  spa dashboard my-study/study.toml --reviewer Ana
  spa dashboard my-study/study.toml --add-reviewer Ben
  spa dashboard --tables tables --llm gpt-4
  spa dashboard --tables ratings.csv --map story_id=item_id
"""
)
@click.argument("study", type=StudyPath(), required=False)
@click.option("--tables", type=INPUT, help="Show tables instead of a STUDY: a folder of them, or one file of answers.")
@reading_options
@role_option("--system-role")
@store_option
@rehearsal_option
@click.option(
    "--reviewer",
    "reviewers",
    multiple=True,
    metavar="NAME",
    help="Who may decide on submissions, with a link for this run; repeatable.",
)
@click.option("--add-reviewer", metavar="NAME", help="Print a link of somebody's own, once, and end.")
@click.option(
    "--role",
    "roles",
    type=click.Choice(("read", "review", "export")),
    multiple=True,
    help="With --add-reviewer: what the link allows; repeatable; to read always. [default: review]",
)
@click.option("--renew-reviewer", metavar="NAME", help="Replace the link of --add-reviewer by a new one, and end.")
@click.option("--remove-reviewer", metavar="NAME", help="Remove the link of --add-reviewer, and end.")
@click.option(
    "--two-reviewers/--one-reviewer",
    "two",
    default=None,
    help="From now on, have two people decide on each submission, neither seeing the other's decision.",
)
@click.option("--show-systems", is_flag=True, help="Show systems and results before the study's end; the log says so.")
@click.option("--review-study", type=StudyPath(), help="Study of `spa review-explanations` on this one.")
@click.option(
    "--embedding",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder with a local model that embeds explanations. [default: TF-IDF]",
)
@host_option
@port_option(8501)
@click.option(
    "--public-url", metavar="URL", help="URL at which people reach the dashboard. [default: http://HOST:PORT]"
)
@click.option(
    "--open-browser",
    "browser",
    cls=Aliased,
    aliases=("--browser/--no-browser",),
    is_flag=True,
    help="Open the page in this machine's browser.",
)
def dashboard(
    study: Path | None,
    tables: Path | None,
    store: str | None,
    rehearsal: bool,
    reviewers: tuple[str, ...],
    add_reviewer: str | None,
    roles: tuple[DashboardRole, ...],
    renew_reviewer: str | None,
    remove_reviewer: str | None,
    two: bool | None,
    show_systems: bool,
    review_study: Path | None,
    embedding: Path | None,
    host: str,
    port: int,
    public_url: str | None,
    browser: bool,
    **reading: Any,
) -> None:
    """Show a study in the browser: progress, submissions, systems, annotators, raters, explanations, report and plan.

    What the columns of --tables are is recognised and said, and corrected by options, as for spa report.

    It pays nobody: decisions made with --reviewer are saved in the store and executed by the commands of the platform.
    Each printed link contains an access token.

    People who review for longer get a link of their own by --add-reviewer. One browser is one reviewer.
    """
    from importlib.util import find_spec

    from spa.commands.workspace import default_store
    from spa.errors import SpaError, how_to_install
    from streamlit_app.background_analysis import begin
    from streamlit_app.options import DashboardOptions

    if find_spec("streamlit") is None:
        raise SpaError(f"spa dashboard needs the package streamlit: {how_to_install('dashboard')}")
    reviewers = _people(reviewers)
    if study is None and tables is None:
        study = Path(DEFAULT_STUDY)
    if study is not None and tables is not None:
        raise click.UsageError("expected either STUDY or --tables, got both")
    reading_options = _options_set(reading, study)
    read_as = reading_of(reading_options)  # before anything is served
    changes = {"add": add_reviewer, "renew": renew_reviewer, "remove": remove_reviewer}
    change = [(which, name) for which, name in changes.items() if name is not None]
    public_url = None if public_url is None else _public(public_url)
    _check(study, two=two, show_systems=show_systems, changes=len(change), roles=roles)
    if change and study is not None:
        _change(study, store, *change[0], roles=roles, base=public_url, host=host, port=port)
        return
    notice, own = None, store  # the study's own store, in which reviewers are, whatever is shown
    if rehearsal and study is None:
        raise click.UsageError("--rehearsal: expected a STUDY, got --tables")
    if study is not None:
        store, notice = chosen_store(study, store, rehearsal=rehearsal)
    options = DashboardOptions(
        study=None if study is None else str(study),
        tables=None if tables is None else str(tables),
        reading=reading_options,
        store=store,
        notice=notice,
        instead_of=None if study is None or rehearsal or store == own else own or str(default_store(study)),
        review=None if review_study is None else str(review_study),
        embedding=None if embedding is None else str(embedding),
    )
    from streamlit_app.access import links_of_run

    if tables is not None:
        from streamlit_app.table_files import recognised_files

        print_found(recognised_files(tables, read_as))
    links = links_of_run(reviewers, unblinded=show_systems)
    if study is not None:
        _check_names(study, own, reviewers)
        places = (store,) if rehearsal else tuple(dict.fromkeys((own, store)))
        _note_start(study, store, links, two=two, places=places)
    background = begin(options)  # before anything is loaded here, so that both processes load at the same time
    from streamlit_app.serving import serve

    serve(options, background, links, own, host=host, port=port, public_url=public_url, browser=browser)


def _options_set(options: Mapping[str, Any], study: Path | None) -> dict[str, Any]:
    """Return those of the options of reading tables that are set; refuse them beside a study."""
    options_set = {
        name: str(value) if isinstance(value, Path) else value for name, value in given_options(options).items()
    }
    if study is not None and options_set:
        option = {param.name: param.opts[0] for param in click.get_current_context().command.params}
        named = ", ".join(option[name] for name in options_set)
        raise click.UsageError(f"{named}: for --tables; a study knows its own columns and raters")
    return options_set


def _people(names: Sequence[str]) -> tuple[str, ...]:
    """Return whom links are printed for: people, each under one name."""
    from spa.errors import ResponseError
    from spa.responses.reviewer_secrets import are_alike, reviewer_name

    try:
        people = tuple(dict.fromkeys(reviewer_name(name) for name in names))
    except ResponseError as error:
        raise click.UsageError(f"--reviewer: {error}") from None
    for one, other in combinations(people, 2):
        if are_alike(one, other):
            raise click.UsageError(f"--reviewer: {one} and {other} are one name; give each person a name of their own")
    return people


def _public(url: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise click.UsageError(f"--public-url: expected one such as https://dashboard.lab.example, got {url!r}")
    return url.rstrip("/")


def _check(
    study: Path | None, *, two: bool | None, show_systems: bool, changes: int, roles: tuple[DashboardRole, ...]
) -> None:
    if study is None and two is not None:
        raise click.UsageError("--two-reviewers and --one-reviewer are for a STUDY")
    if study is None and (changes or show_systems):
        raise click.UsageError("--add-, --renew- and --remove-reviewer and --show-systems are for a STUDY")
    if changes > 1:
        raise click.UsageError("expected one of --add-reviewer, --renew-reviewer and --remove-reviewer, got several")
    if roles and not changes:
        raise click.UsageError("--role is for --add-reviewer; a --reviewer may read, review and export")


def _change(
    study: Path,
    store: str | None,
    which: str,
    name: str,
    *,
    roles: tuple[DashboardRole, ...],
    base: str | None,
    host: str,
    port: int,
) -> None:
    """Add, renew or remove a reviewer of the store, and print the link, which nobody can look up later."""
    from spa.responses import reviewer_secrets
    from streamlit_app.serving import address_of, link_of

    now = time.time()
    with _opened(study, store) as opened, opened.transaction() as connection:
        if which == "remove":
            reviewer_secrets.remove_reviewer(connection, name, now=now)
            click.echo(f"{name}'s link leads nowhere any more; what {name} decided stays in the log.")
            return
        if which == "renew":
            secret = reviewer_secrets.renew_reviewer(connection, name, now=now)
        else:
            secret = reviewer_secrets.add_reviewer(connection, name, roles or ("review",), now=now)
    click.echo(f"{name}: {link_of(base or address_of(host, port), secret)}")
    click.echo(f"This link is not shown again. It is {name}'s alone, and valid while `spa dashboard` runs there.")


def _check_names(study: Path, store: str | None, reviewers: tuple[str, ...]) -> None:
    """Refuse to play somebody who has a link of their own."""
    from spa.commands.workspace import default_store
    from spa.errors import ResponseError
    from spa.responses.reviewer_secrets import is_one_of, read_reviewers
    from spa.responses.store import Store

    if not reviewers or not Store.exists(store or default_store(study)):
        return
    with _opened(study, store, read_only=True) as opened, opened.reading() as connection:
        enrolled = read_reviewers(connection)
    for name in reviewers:
        if is_one_of(name, enrolled):
            raise ResponseError(
                f"--reviewer {name}: has a link of their own and decides with that; leave the option out, or print a "
                f"new link with --renew-reviewer {name}"
            )


def _note_start(
    study: Path,
    shown: str | None,
    links: Sequence[PrintedLink],
    *,
    two: bool | None,
    places: Sequence[str | None],
) -> None:
    """Note what the command decides: in its ``places`` how many review, in what is shown who sees the systems."""
    from spa.responses.dashboard_log import OPERATOR, DashboardEntry, add_entry
    from spa.responses.two_reviewers import let_decide

    now = time.time()
    for place in places if two is not None else ():
        with _opened(study, place) as opened, opened.transaction() as connection:
            let_decide(connection, 2 if two else 1)
            action: DashboardAction = "two reviewers" if two else "one reviewer"
            add_entry(connection, DashboardEntry(noted_at=now, who=OPERATOR, action=action))
    unblinded = [link.person.known_as for link in links if link.person.unblinded]
    if unblinded:
        with _opened(study, shown) as opened, opened.transaction() as connection:
            for who in unblinded:
                entry = DashboardEntry(noted_at=now, who=who, action="show systems", detail="--show-systems")
                add_entry(connection, entry)


def _opened(study: Path, store: str | None, *, read_only: bool = False) -> Store:
    from spa.commands.workspace import default_store
    from spa.responses.store import Store

    return Store.open(store or default_store(study), read_only=read_only)


def chosen_store(study: Path, store: str | None, *, rehearsal: bool) -> tuple[str | None, str | None]:
    """Return the store that is shown and what must be said of it, and say it; what cannot be opened is said later."""
    from spa.commands.workspace import choose_store
    from spa.errors import ResponseError

    try:
        chosen = choose_store(study, store, rehearsal=rehearsal or None, read_only=True)
    except ResponseError:
        if rehearsal:
            raise
        return store, None
    if chosen.notice is not None:
        click.echo(chosen.notice)
    return (str(chosen.target) if chosen.is_rehearsal else store), chosen.notice
