"""A report made by ``spa report`` within another command: of a study's tables, or of files with the words typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analysis.commands.rendering_options import Rendering
from analysis.commands.report import TABLES, report
from analysis.commands.verifying import verifying
from spa.commands.options import given_options
from spa.commands.terminal import Stages
from spa.errors import AnalysisError, shortened

if TYPE_CHECKING:
    from analysis.archive.inputs import StudyInputs, Verify
    from analysis.records.results import Results

NOT_RECORDED = frozenset(  # where answers are, how a report looks, and what reaches beyond this machine's files
    "store rehearsal in_parts cluster scratch verify no_verify full thumbnails pdf browser out as_json".split()
)
OPTIONS = tuple(one for one in report.params if isinstance(one, click.Option) and one.name not in NOT_RECORDED)
FILES = frozenset({*TABLES, "people", "pairs_file"})  # options whose values are files
Words = tuple[tuple[str, tuple[str, ...]], ...]  # an option and its values, in the order of the help


def given_words(values: Mapping[str, Any]) -> Words:
    """Return the options that were given to a command, as they would be typed, from their values."""
    found: list[tuple[str, tuple[str, ...]]] = []
    given = given_options(values)
    for option in (one for one in OPTIONS if one.name in given):
        value = given[option.name or ""]
        each = value if option.multiple else [value]
        found += [(option.opts[0], _typed(one)) for one in each]
    return tuple(found)


def checked_words(words: Iterable[tuple[str, Sequence[str]]]) -> Words:
    """Return words as they were recorded; raise AnalysisError where one is none of ``spa report``."""
    known = {option.opts[0]: 0 if option.is_flag else option.nargs for option in OPTIONS}
    found = tuple((option, tuple(values)) for option, values in words)
    for option, values in found:
        if known.get(option) != len(values):
            raise AnalysisError(
                f"options: expected those of spa report, got {shortened(repr((option, *values)))}; take the archive as "
                "spa bundle wrote it"
            )
    return found


def names_file(option: str) -> bool:
    """Return whether the values of an option are files."""
    return any(option == one.opts[0] and one.name in FILES for one in OPTIONS)


def report_of_study(inputs: StudyInputs, place: Path, folder: Path) -> Results:
    """Write the report of a study's tables, which lie in ``place``, to a folder as ``spa report`` does."""
    from analysis.results.analyse import analyse

    with Stages() as told, verifying(inputs.verify, no_verify=False, now=True) as verifier:
        told("checking the answers")
        gathered = inputs.gathered(place)
        results = analyse(
            gathered.checked(),
            gathered.plan,
            study=gathered.facts,
            observed_power=inputs.observed_power,
            told=told,
            verifier=verifier,
        )
        told("writing the report")
        return Rendering(folder=folder, paper=inputs.paper).write(results, verifier)


def report_of_tables(named: Iterable[Path], words: Words, folder: Path, *, verify: Verify) -> None:
    """Write the report of files to a folder by ``spa report``, whose printed lines stand in the report."""
    typed = [str(path) for path in named]
    for option, values in words:
        typed += [option, *values] if len(values) != 1 else [f"{option}={values[0]}"]
    with redirect_stdout(StringIO()):
        report.main([*typed, "--out", str(folder), "--verify", verify], prog_name="spa report", standalone_mode=False)


def _typed(value: Any) -> tuple[str, ...]:
    if value is True:
        return ()
    return tuple(map(str, value)) if isinstance(value, tuple | list) else (str(value),)
