"""``spa init`` and ``spa check``: begin a study, and see what it will ask before anybody is asked."""

from __future__ import annotations

import shutil
import tempfile
from importlib import resources
from pathlib import Path

import click

from spa.commands.options import json_option, print_json, study_argument

PAPERS = ("ethayarajh-jurafsky", "chiang-lee", "sottana", "chhun")  # studies like theirs, with texts of our own
EXAMPLES = ("stories", "demo", "zh", "ar", "images", "rankings", "spans", *PAPERS)
WITH_RATERS = ("stories", "demo")
RATERS = "raters"  # protocols of papers, a file each; they fit the stories


@click.command(epilog="Example: spa init my-study --example images")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--example",
    type=click.Choice(EXAMPLES),
    default="stories",
    show_default=True,
    help="Example to start from; stories explains every key of a study file; the last ones follow a paper.",
)
def init(folder: Path, example: str) -> None:
    """Write a commented study.toml and example outputs into FOLDER.

    The stories come with example LLM raters, one file each, in FOLDER/raters. Existing files are
    never overwritten.
    """
    written = write_example(folder, example)
    for name in written:
        click.echo(f"wrote {folder / name}")
    click.echo(f"Next: spa check {folder / 'study.toml'}")


@click.command(epilog="Example: spa check my-study/study.toml")
@study_argument
@json_option
def check(study: Path, as_json: bool) -> None:
    """Check STUDY and everything it names, and show what an annotator will face.

    All mistakes are reported at once, one line each.
    """
    from spa.commands.check import overview_of, print_overview
    from spa.errors import SpaError

    try:
        overview = overview_of(study)
    except SpaError as error:
        if as_json:
            print_json({"study": None, "problems": error.problems})
        raise
    if as_json:
        print_json(overview.as_json())
    else:
        print_overview(overview, study)


def write_example(folder: Path, example: str) -> tuple[str, ...]:
    """Copy an example study into a folder; all of it or, where a file is in the way, nothing.

    Returns the names of the files and folders written. Raise StudyError if a file of that name is there, or the folder
    cannot be written.
    """
    from spa.errors import StudyError
    from spa.study.file_schema import SCHEMA_FILE

    with resources.as_file(resources.files("spa.examples")) as examples:
        paths = [*(examples / example).iterdir(), *([examples / RATERS] if example in WITH_RATERS else []), SCHEMA_FILE]
        named = (examples / example / "study.toml").read_text(encoding="utf-8")
        paths += [
            path
            for path in (examples / "stories").glob("*.jsonl")
            if f'"{path.name}"' in named and path.name not in {one.name for one in paths}
        ]
        sources = {path.name: path for path in sorted(paths, key=lambda path: (path.name == "study.toml", path.name))}
        names = tuple(sources)
        there = [path for name in names if (path := folder / name).exists()]
        if there:
            found = "expected no such file, got one; it is not overwritten, choose another folder"
            raise StudyError(*(f"{path}: {found}" for path in there))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # study.toml comes last: where it is, the rest is.
            with tempfile.TemporaryDirectory(dir=folder, prefix=".spa-init-") as temporary:
                for name in names:
                    _copy(sources[name], Path(temporary) / name)
                for name in names:
                    (Path(temporary) / name).rename(folder / name)
        except OSError as error:
            raise StudyError(f"{folder}: expected a folder that can be written, got {error.strerror}") from error
    return names


def _copy(source: Path, target: Path) -> None:
    """Copy contents without the permissions, which may be read-only in an installed package."""
    if source.is_dir():
        target.mkdir()
        for path in source.iterdir():
            _copy(path, target / path.name)
    else:
        shutil.copyfile(source, target)
