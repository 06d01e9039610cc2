"""``spa init`` and ``spa check``: begin a study, and see what it will ask before anybody is asked.

``spa init --outputs`` says what it takes your files for and asks what is open.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from spa.commands.options import json_option, print_json, study_argument, values_of_columns
from spa.errors import SpaError, StudyError, shortened
from spa.media import medium_keys
from spa.records.clean_text import cleaned

if TYPE_CHECKING:
    from spa.commands.check import Overview
    from spa.starting.found import FoundOutputs, OpenQuestion
    from spa.starting.proposal import ProposedForm
    from spa.starting.settling import Settled


PAPERS = (
    "ethayarajh-jurafsky",
    "chiang-lee",
    "adversarial",
    "sottana",
    "chhun",
)  # studies like theirs, with texts of our own
FIRST = ("stories", "demo", "zh", "ar", "images")


def _examples() -> tuple[str, ...]:
    """Return the folders of spa/examples; those of ways of asking are found there, as loading the ways takes long."""
    found = {file.parent.name for file in (Path(__file__).parents[1] / "examples").glob("*/study.toml")}
    return (*FIRST, *sorted(found.difference(FIRST, PAPERS)), *PAPERS)


EXAMPLES = _examples()
USAGE = 2  # exit code where nobody can be asked
WITH_RATERS = ("stories", "demo")
RATERS = "raters"  # protocols of papers, a file each; they fit the stories, and that of a paper its study


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
@click.option("--kind", type=click.Choice(medium_keys()), help="What the outputs are.")
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
    **options: Any,
) -> None:
    """Write a study.toml into FOLDER: an example, or a study of your own outputs.

    With --outputs it says what it takes for what and what it leaves out, asks whether that is
    right, and copies the outputs beside study.toml. Else it copies a commented example; the
    stories come with example LLM raters in FOLDER/raters. Existing files are never overwritten.
    """
    outputs = (*options.pop("outputs"), *files)
    if given_options := [name for name, value in options.items() if value not in (None, ())]:
        option = {"systems": "--system", "prompts": "--prompt"}.get(given_options[0], f"--{given_options[0]}")
        if not outputs:
            raise click.UsageError(f"{option.replace('_', '-')}: expected --outputs beside it; name your files")
    if files and not outputs[: len(outputs) - len(files)]:
        raise click.UsageError(f"{files[0]}: expected one FOLDER, got more; name files of outputs behind --outputs")
    if outputs and (example is not None or schema):
        other = "--schema" if schema else "--example"
        raise click.UsageError(f"{other} and --outputs: expected one of them; remove the other")
    if outputs:
        start_study(folder, outputs, options, yes=yes, as_json=as_json)
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
        paths = [*(examples / example).iterdir(), SCHEMA_FILE]
        if example in WITH_RATERS or (examples / RATERS / f"{example}.toml").is_file():
            paths += [examples / RATERS] if RATERS not in {path.name for path in paths} else []
        only = "*" if example in WITH_RATERS else f"{example}*.toml"
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
                _copy(sources[name], place / name, only if name == RATERS else "*")
    return names


def _copy(source: Path, target: Path, only: str = "*") -> None:
    """Copy contents, of a folder those of some names, without the permissions, which may be read-only in a package."""
    if source.is_dir():
        target.mkdir()
        for path in source.glob(only):
            _copy(path, target / path.name)
    else:
        shutil.copyfile(source, target)


def start_study(folder: Path, files: Sequence[Path], options: Mapping[str, Any], *, yes: bool, as_json: bool) -> None:
    """Find the outputs in files, say and ask what they are taken for, and write a study of them."""
    from spa.starting.finding import find_answers
    from spa.starting.input_rows import NamedColumns
    from spa.starting.proposal import proposed
    from spa.starting.settling import (
        missing_outputs,
        same_names,
        settled,
        with_items,
        with_one_name,
        with_samples,
        without_repeats,
    )
    from spa.starting.writing import check_free

    if not yes and (as_json or not at_terminal()):
        why = "--json asks nothing" if as_json else "there is no terminal to ask at"
        _leave(f"expected --yes, as {why}; add it to take what is found, or correct it by --item, --system, ...")
    check_free(folder)
    talk = _Talk(options, yes=yes, quiet=as_json)
    columns = NamedColumns(
        item=options["item"],
        systems=options["systems"],
        output=options["output"],
        prompts=options["prompts"],
        kind=options["kind"],
    )
    try:
        found = find_answers(files, columns, _options(options), talk.settle)
        talk.show(found)
        if (question := same_names(found)) and talk.settle(question) == "one":
            found = with_one_name(found)
        found, question = without_repeats(found)
        if question is not None:
            found = with_samples(found, cast('Literal["samples", "first", "last"]', talk.settle(question)))
        single = False
        if question := missing_outputs(found):
            which = cast('Literal["common", "single"]', talk.settle(question))
            found, single = with_items(found, which), which == "single"
        study = settled(found, single=single)
    except SpaError as error:
        if as_json:
            print_json({"study": None, "problems": error.problems})
        raise
    talk.show(replace(found, took=(), left_out=study.left_out, caveats=study.caveats))
    proposal = proposed(study)
    talk.propose(proposal)
    if not yes and not click.confirm("Is that right?", default=True):
        click.echo("Nothing was written; correct it by an option: --item, --system, --output, --prompt, --kind, --drop")
        return
    path, overview = _written(folder, study, proposal)
    if as_json:
        asked = [{"option": f"--{one.key}", "question": one.question, "answer": answer} for one, answer in talk.asked]
        facts = {"took": talk.took, "left_out": talk.left_out, "caveats": talk.caveats, "asked": asked}
        print_json(facts | {"proposed": proposal.reasons, "study_file": str(path), "overview": overview.as_json()})
        return
    from spa.commands.check import print_overview

    click.echo(f"wrote {path} and {len(study.answers):,} outputs beside it\n")
    print_overview(overview, path)


def at_terminal() -> bool:
    """Return whether somebody can be asked."""
    return sys.stdin.isatty()


class _Talk:
    """What was said and asked."""

    def __init__(self, given: Mapping[str, Any], *, yes: bool, quiet: bool) -> None:
        self._given = given
        self._yes, self._quiet = yes, quiet
        self.took: list[str] = []
        self.left_out: list[str] = []
        self.caveats: list[str] = []
        self.asked: list[tuple[OpenQuestion, str]] = []

    def show(self, found: FoundOutputs) -> None:
        """Say what is new of what was found."""
        for lines, said, start in (
            (found.took, self.took, ""),
            (found.left_out, self.left_out, "left out: "),
            (found.caveats, self.caveats, "note: "),
        ):
            for line in lines:
                if line not in said:
                    said.append(line)
                    self._say(f"{start}{line}")

    def propose(self, proposal: ProposedForm) -> None:
        """Say what is asked of people."""
        for reason in proposal.reasons:
            self._say(f"form: {reason}")

    def settle(self, question: OpenQuestion) -> str:
        """Return what an option says, else what is answered at the terminal or by default."""
        choice = self._given.get(question.key.replace("-", "_"))
        options = f"--{question.key} {'|'.join(question.choices)}"
        if choice in question.choices:
            self._say(f"{question.question} As --{question.key} says: {choice}")
        elif self._yes or len(question.choices) == 1:
            choice = question.default
            if choice is None:
                _leave(f"{shortened(question.question, 380)} Say which: {options}")
            self._say(f"{question.question} Taken: {choice} ({options})")
        else:
            self._say(f"{question.question} ({options})")
            choice = click.prompt("Which", type=click.Choice(question.choices), default=question.default)
        self.asked.append((question, str(choice)))
        return str(choice)

    def _say(self, line: str) -> None:
        if not self._quiet:
            click.echo(cleaned(" ".join(line.split())))


def _written(folder: Path, study: Settled, proposal: ProposedForm) -> tuple[Path, Overview]:
    """Write the study and return its file with what it asks; nothing is left where it has a mistake."""
    from decimal import Decimal

    from spa.commands.check import overview_of
    from spa.starting.proposal import pay_of
    from spa.starting.writing import check_files, new_files, study_files, study_text, write_study

    check_files(study)
    with new_files(folder, study_files(study)) as place:
        staged = write_study(place, folder, study, proposal)
        try:
            overview = overview_of(staged)
        except StudyError as error:
            raise error.called(f"{place}/", f"{folder}/") from error
        pay = pay_of(overview.minutes)
        staged.write_text(study_text(folder, study, proposal, pay=pay), encoding="utf-8")
    people = overview.study.people.model_copy(update={"pay": Decimal(pay)})
    warnings = tuple(re.sub(r"\S*\.spa-init-[^/\s]*/", f"{folder}/", line) for line in overview.warnings)
    paid = overview.study.model_copy(update={"people": people})
    return folder / staged.name, replace(overview, study=paid, warnings=warnings)


def _options(given: Mapping[str, Any]) -> Any:
    from spa.tables.options import TableOptions

    return TableOptions(
        each=given["each"],
        keep=values_of_columns(given["keep"], "--keep"),
        drop=values_of_columns(given["drop"], "--drop"),
        sheet=given["sheet"],
        encoding=given["encoding"],
    )


def _leave(line: str) -> None:
    """End with one line, what can be pasted at its end, and the exit code of wrong usage."""
    click.echo(cleaned(f"spa: {' '.join(line.split())}"), err=True)
    sys.exit(USAGE)
