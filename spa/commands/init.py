"""``spa init`` and ``spa check``: begin a study, and see what it will ask before anybody is asked."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import click

from spa.commands.options import json_option, print_json, study_argument

PAPERS = ("ethayarajh-jurafsky", "chiang-lee", "sottana", "chhun")  # studies like theirs, with texts of our own
EXAMPLES = ("stories", "demo", "zh", "ar", "images", "rankings", "spans", *PAPERS)
WITH_RATERS = ("stories", "demo")
RATERS = "raters"  # protocols of papers, a file each; they fit the stories


@click.command(epilog="Example: spa init my-study --outputs answers.csv")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILES]...")
@click.option(
    "--example",
    type=click.Choice(EXAMPLES),
    help="Example to start from; stories explains every key of a study file; the last ones follow a paper.  [stories]",
)
@click.option(
    "--outputs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Your systems' outputs: tables (CSV, JSON, JSONL, Parquet, .xlsx), one file a system, or folders; "
    "further FILES may follow.",
)
@click.option("--item", metavar="COLUMN", help="Column, or path into records, that names the item.")
@click.option("--system", "systems", multiple=True, metavar="COLUMN", help="Column that names the system; given twice "
              "or more, the columns that are systems.")  # fmt: skip
@click.option("--output", metavar="COLUMN", help="Column, or path such as choices[0].text, of the output.")
@click.option("--prompt", "prompts", multiple=True, metavar="COLUMN", help="Column with what every system was given.")
@click.option("--kind", type=click.Choice(["text", "image"]), help="What the outputs are.")
@click.option("--repeats", type=click.Choice(["samples", "first", "last"]), help="Of several answers of a system to "
              "an item: all as samples, or one.")  # fmt: skip
@click.option("--missing-outputs", type=click.Choice(["common", "single"]), help="Where systems leave items out: items "
              "common to all, or all, in a form that rates single outputs.")  # fmt: skip
@click.option("--same-names", type=click.Choice(["one", "apart"]), help="Of names that may be one system's.")
@click.option("--fallbacks", type=click.Choice(["first", "all"]), help="Of requests that another system answered.")
@click.option("--each", metavar="PATH", help="Lists or objects of a record that become rows.")
@click.option("--keep", multiple=True, metavar="COLUMN=VALUE", help="Read only these rows; repeatable.")
@click.option("--drop", multiple=True, metavar="COLUMN=VALUE", help="Leave these rows out; repeatable.")
@click.option("--sheet", metavar="NAME", help="Of workbooks (.xlsx): the sheet that is read.  [the first]")
@click.option("--encoding", metavar="NAME", help="Of text files that are not UTF-8: cp1252.")
@click.option(
    "--schema", is_flag=True, help="Only write the schema of this release beside FOLDER's study.toml, for editors."
)
@click.option("--yes", is_flag=True, help="Take what is found, without asking.")
@json_option
def init(
    folder: Path,
    files: tuple[Path, ...],
    example: str | None,
    schema: bool,
    yes: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Write a study.toml into FOLDER: an example, or a study of your own outputs.

    With --outputs it says what it takes for what and what it leaves out, asks whether that is
    right, and copies the outputs beside study.toml. Else it copies a commented example; the
    stories come with example LLM raters in FOLDER/raters. Existing files are never overwritten.
    """
    outputs = (*given.pop("outputs"), *files)
    if given_options := [name for name, value in given.items() if value not in (None, ())]:
        option = {"systems": "--system", "prompts": "--prompt"}.get(given_options[0], f"--{given_options[0]}")
        if not outputs:
            raise click.UsageError(f"{option.replace('_', '-')}: expected --outputs beside it; name your files")
    if files and not outputs[: len(outputs) - len(files)]:
        raise click.UsageError(f"{files[0]}: expected one FOLDER, got more; name files of outputs behind --outputs")
    if outputs and (example is not None or schema):
        other = "--schema" if schema else "--example"
        raise click.UsageError(f"{other} and --outputs: expected one of them; remove the other")
    if outputs:
        from spa.commands.starting import start_study

        start_study(folder, outputs, given, yes=yes, as_json=as_json)
        return
    if schema and example is not None:
        raise click.UsageError("--example and --schema: expected one of them; remove the other")
    written = (write_schema(folder),) if schema else write_example(folder, example or EXAMPLES[0])
    if as_json:
        print_json({"written": [str(folder / name) for name in written]})
        return
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


def write_schema(folder: Path) -> str:
    """Write the schema of study files beside one, in the place of that of another release; return its name.

    Raise StudyError if there is no study in the folder, or it cannot be written.
    """
    from spa.errors import StudyError
    from spa.study.file_schema import SCHEMA_NAME, schema_text

    if not (folder / "study.toml").is_file():
        raise StudyError(f"{folder / 'study.toml'}: no such file; name the folder of a study")
    try:
        (folder / SCHEMA_NAME).write_text(schema_text(), encoding="utf-8")
    except OSError as error:
        raise StudyError(f"{folder}: expected a folder that can be written, got {error.strerror}") from error
    return SCHEMA_NAME


def write_example(folder: Path, example: str) -> tuple[str, ...]:
    """Copy an example study into a folder; all of it or, where a file is in the way, nothing.

    Returns the names of the files and folders written. Raise StudyError if a file of that name is there, or the folder
    cannot be written.
    """
    from spa.starting.writing import new_files
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
        with new_files(folder, names) as place:  # study.toml comes last: where it is, the rest is
            for name in names:
                _copy(sources[name], place / name)
    return names


def _copy(source: Path, target: Path) -> None:
    """Copy contents without the permissions, which may be read-only in an installed package."""
    if source.is_dir():
        target.mkdir()
        for path in source.iterdir():
            _copy(path, target / path.name)
    else:
        shutil.copyfile(source, target)
