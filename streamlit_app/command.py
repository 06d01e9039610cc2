"""``spa dashboard``: monitor a study, review its submissions and explore its results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from analysis.commands.reading_options import reading_of, reading_options
from spa.commands.options import (
    DEFAULT_STUDY,
    INPUT,
    Aliased,
    StudyPath,
    host_option,
    port_option,
    rehearsal_option,
    store_option,
)

TOKEN_BYTES = 24


@click.command(
    epilog="""\b
Examples:
  spa dashboard my-study/study.toml --reviewer Ana
  spa dashboard --tables tables --llm gpt-4
  spa dashboard --tables downloaded --map rater=annotator_id --map story_id=item_id
"""
)
@click.argument("study", type=StudyPath(), required=False)
@click.option("--tables", type=INPUT, help="Show a folder of tidy tables instead of a STUDY.")
@reading_options
@store_option
@rehearsal_option
@click.option(
    "--reviewer", "reviewers", multiple=True, metavar="NAME", help="Who may decide on submissions; repeatable."
)
@click.option(
    "--two-reviewers/--one-reviewer",
    "two",
    default=None,
    help="From now on, have two people decide on each submission, neither seeing the other's decision.",
)
@click.option("--review-study", type=StudyPath(), help="Study of `spa review-explanations` on this one.")
@click.option(
    "--embedding",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder with a local model that embeds explanations. [default: TF-IDF]",
)
@host_option
@port_option(8501)
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
    two: bool | None,
    review_study: Path | None,
    embedding: Path | None,
    host: str,
    port: int,
    browser: bool,
    **reading: Any,
) -> None:
    """Show a study in the browser: progress, submissions, systems, annotators, raters, explanations, report and plan.

    How --tables are read is said as for spa report.

    It pays nobody: decisions made with --reviewer are saved in the store and executed by the commands of the platform.
    With a --host other than this machine, the link contains an access token.
    """
    import secrets
    from importlib.util import find_spec

    from spa.errors import SpaError, how_to_install
    from streamlit_app.background_analysis import begin
    from streamlit_app.options import LOOPBACK, DashboardOptions

    if find_spec("streamlit") is None:
        raise SpaError(f"spa dashboard needs the package streamlit: {how_to_install('dashboard')}")
    reviewers = tuple(dict.fromkeys(name.strip() for name in reviewers))
    if "" in reviewers:
        raise click.UsageError("--reviewer: expected a name, got an empty one")
    if study is None and tables is None:
        study = Path(DEFAULT_STUDY)
    if study is not None and tables is not None:
        raise click.UsageError("expected either STUDY or --tables FOLDER, got both")
    given = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in reading.items()
        if value not in (None, False, ())
    }
    if study is not None and given:
        option = {param.name: param.opts[0] for param in click.get_current_context().command.params}
        named = ", ".join(option[name] for name in given)
        raise click.UsageError(f"{named}: for --tables; a study knows its own columns and raters")
    if given:
        reading_of(given)  # before anything is served
    notice = None
    if rehearsal and study is None:
        raise click.UsageError("--rehearsal: expected a STUDY, got --tables")
    if study is not None:
        own = store
        store, notice = chosen_store(study, store, rehearsal=rehearsal)
    options = DashboardOptions(
        study=None if study is None else str(study),
        tables=None if tables is None else str(tables),
        reading=given,
        store=store,
        notice=notice,
        reviewers=reviewers,
        review=None if review_study is None else str(review_study),
        embedding=None if embedding is None else str(embedding),
        token=None if host in LOOPBACK else secrets.token_urlsafe(TOKEN_BYTES),
    )
    if two is not None:
        if study is None:
            raise click.UsageError("--two-reviewers and --one-reviewer are for a STUDY")
        from spa.commands.workspace import default_store
        from spa.responses.store import Store
        from spa.responses.two_reviewers import let_decide

        own = store if rehearsal else own
        for place in dict.fromkeys((own or default_store(study), store or default_store(study))):
            with Store.open(place) as opened, opened.transaction() as connection:
                let_decide(connection, 2 if two else 1)
    background = begin(options)  # before anything is loaded here, so that both processes load at the same time
    from streamlit_app.serving import serve

    serve(options, background, host=host, port=port, browser=browser)


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
