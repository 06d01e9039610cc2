"""What ``spa init --outputs`` says, asks and writes."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from spa.commands.options import print_json, values_of_columns
from spa.errors import SpaError, StudyError, shortened
from spa.study.output_files import cleaned

if TYPE_CHECKING:
    from spa.commands.check import Overview
    from spa.starting.found import Found, OpenQuestion
    from spa.starting.proposal import ProposedForm
    from spa.starting.settling import Settled


USAGE = 2  # exit code where nobody can be asked


def start_study(folder: Path, files: Sequence[Path], given: Mapping[str, Any], *, yes: bool, as_json: bool) -> None:
    """Find the outputs in files, say and ask what they are taken for, and write a study of them."""
    from spa.starting.finding import find_answers
    from spa.starting.proposal import proposed
    from spa.starting.rows import Given
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
    talk = _Talk(given, yes=yes, quiet=as_json)
    columns = Given(
        item=given["item"],
        systems=given["systems"],
        output=given["output"],
        prompts=given["prompts"],
        kind=given["kind"],
    )
    try:
        found = find_answers(files, columns, _options(given), talk.settle)
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

    def show(self, found: Found) -> None:
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
    from spa.starting.writing import check_images, new_files, study_files, study_text, write_study

    if study.kind == "image":
        check_images(study)
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
