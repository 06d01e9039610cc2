"""What a report in an archive is made of: of a study its tables, plan and facts; of tables the words of the command."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from analysis.answers.plan import Plan
from analysis.answers.sidecars import Sidecar, read_sidecar
from analysis.answers.study_answers import GatheredAnswers
from analysis.answers.study_facts import StudyFacts
from analysis.archive.contents import Contents
from spa.errors import AnalysisError, shortened, unreadable
from spa.tables.formulas import unguarded, without_formulas

if TYPE_CHECKING:
    from pydantic import TypeAdapter

INPUTS = "inputs.json"
TABLES, SIDECARS = "tables", "beside"  # folders
TYPES = {"String": pl.String, "Int64": pl.Int64, "Float64": pl.Float64, "Boolean": pl.Boolean, "Null": pl.Null}
OUTPUTS_READ = "outputs_read"
Verify = Literal["on", "strict", "off"]
Paper = Literal["acl", "neurips", "generic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyInputs:
    """A study's tables as its report read them.

    Attributes
    ----------
    versions : mapping of str to str
        Of Python and the libraries with which the report was made.
    tables : mapping of str to mapping
        Columns of each table, with their types.
    files : mapping of str to str
        Tables of metrics, by what they are: names in the archive.
    contamination, exploration
        What other commands wrote beside the study: names in the archive.
    plan, facts
        As in :class:`analysis.answers.study_answers.GatheredAnswers`.
    observed_power : float or None
        As :func:`analysis.results.analyse.analyse` takes it.
    paper : {"acl", "neurips", "generic"} or None
        The class whose columns tables and figures fit, where there are some for a paper.
    verify : {"on", "strict", "off"}
        Whether figures were computed again by libraries.
    """

    kind: Literal["study"] = "study"
    versions: Mapping[str, str]
    tables: Mapping[str, Mapping[str, str]]
    files: Mapping[str, str] = field(default_factory=dict)
    contamination: tuple[str, ...] = ()
    exploration: str | None = None
    plan: Plan
    facts: StudyFacts
    observed_power: float | None = None
    paper: Paper | None = None
    verify: Verify = "on"

    def gathered(self, folder: Path) -> GatheredAnswers:
        """Read the tables from the folder of an archive.

        Raises
        ------
        AnalysisError
            If a table is not as it is described.
        """
        named = [*self.files.values(), *self.contamination, *filter(None, [self.exploration])]
        named += [_table_name(name) for name in self.tables]
        refuse_absent(folder, named)
        frames = {name: _read(folder / _table_name(name), columns) for name, columns in self.tables.items()}
        explored = None if self.exploration is None else read_sidecar(folder / self.exploration)
        known = tuple(read_sidecar(folder / name) for name in self.contamination)
        return GatheredAnswers(
            outputs_read=frames.pop(OUTPUTS_READ, None),
            frames=frames,
            files={name: folder / place for name, place in self.files.items()},
            plan=self.plan,
            facts=replace(self.facts, contamination=known, exploration=explored),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInputs:
    """Tables from elsewhere, and the words of ``spa report`` with which they were read.

    Attributes
    ----------
    versions : mapping of str to str
        Of Python and the libraries with which the report was made.
    named : tuple of str
        Tables given by name alone: names in the archive.
    options : tuple of (str, tuple of str)
        The options in the order of the command's help, each with its values.
    files : frozenset of str
        Those of the options whose value is a name in the archive.
    verify : {"on", "strict", "off"}
        Whether figures were computed again by libraries.
    """

    kind: Literal["tables"] = "tables"
    versions: Mapping[str, str]
    named: tuple[str, ...] = ()
    options: tuple[tuple[str, tuple[str, ...]], ...] = ()
    verify: Verify = "on"


def write_study(
    contents: Contents,
    gathered: GatheredAnswers,
    *,
    observed_power: float | None,
    paper: Paper | None = None,
    verify: Verify,
) -> StudyInputs:
    """Put what a study's report is made of into an archive, and return what it says of it."""
    frames = {name: frame for name, frame in gathered.frames.items() if not frame.is_empty()}
    if gathered.outputs_read is not None:
        frames[OUTPUTS_READ] = gathered.outputs_read
    described = {name: _write(contents, name, frame) for name, frame in frames.items()}
    files = {kind: f"{TABLES}/{path.name}" for kind, path in gathered.files.items()}
    for kind, path in gathered.files.items():
        contents.add(files[kind], path, "a table of metrics, as the report read it")
    facts = gathered.facts
    beside = [*facts.contamination, *([] if facts.exploration is None else [facts.exploration])]
    for sidecar in beside:
        contents.add(_sidecar_name(sidecar), sidecar.content, f"what spa {sidecar.path.stem} found, as the report says")
    found = StudyInputs(
        versions=library_versions(),
        tables=described,
        files=files,
        contamination=tuple(map(_sidecar_name, facts.contamination)),
        exploration=None if facts.exploration is None else _sidecar_name(facts.exploration),
        plan=gathered.plan,
        facts=replace(facts, contamination=(), exploration=None),
        observed_power=observed_power,
        paper=paper,
        verify=verify,
    )
    write_inputs(contents, found)
    return found


def write_inputs(contents: Contents, inputs: StudyInputs | TableInputs) -> None:
    """Put the description of what a report is made of into an archive."""
    plain = _adapter().dump_python(inputs, mode="json")
    if isinstance(inputs, StudyInputs):
        plain["plan"]["lower_is_better"].sort()  # a set, whose order changes from process to process
    text = json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    contents.add(INPUTS, text, "what spa replay makes the report from: tables, plan, facts and versions of libraries")


def read_inputs(folder: Path) -> StudyInputs | TableInputs:
    """Read the description of what a report is made of.

    Raises
    ------
    AnalysisError
        If the file is absent or is not what this version of ``spa bundle`` writes.
    """
    from pydantic import ValidationError

    path = folder / INPUTS
    try:
        found: StudyInputs | TableInputs = _adapter().validate_json(path.read_bytes(), strict=True)
        return found
    except OSError as error:
        raise AnalysisError(unreadable(INPUTS, error, "take the archive as spa bundle wrote it")) from error
    except (ValidationError, RecursionError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": "nested too deeply"}
        place = shortened(".".join(str(part) for part in first["loc"]), 80)
        raise AnalysisError(
            f"{INPUTS}: expected what spa bundle writes, got another: {place}: {shortened(first['msg'], 160)}; "
            "take the archive as it was written, or the version of spa-eval that wrote it"
        ) from error


def refuse_absent(folder: Path, names: list[str]) -> None:
    """Raise AnalysisError where one of these is not the name of a file of the archive."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in names:
        if name not in there:
            raise AnalysisError(f"{INPUTS}: expected names of files of the archive, got {shortened(repr(name))}")


def library_versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of the libraries that it always needs."""
    found = {"python": platform.python_version(), "spa-eval": version("spa-eval")}
    for line in requires("spa-eval") or ():
        name = re.match(r"[A-Za-z0-9._-]+", line)
        if name is not None and "extra ==" not in line:
            try:
                found[name[0]] = version(name[0])
            except PackageNotFoundError:  # of another system
                continue
    return dict(sorted(found.items()))


def _table_name(name: str) -> str:
    return f"{TABLES}/{name}.csv"


def _sidecar_name(sidecar: Sidecar) -> str:
    return f"{SIDECARS}/{sidecar.path.name}"


def _write(contents: Contents, name: str, frame: pl.DataFrame) -> dict[str, str]:
    """Write a table such that it is read back as it was, and return its columns with their types."""
    texts = [column for column, kind in frame.schema.items() if kind in (pl.Categorical, pl.Enum)]
    frame = frame.with_columns(pl.col(texts).cast(pl.String)) if texts else frame
    described = {column: str(kind) for column, kind in frame.schema.items()}
    contents.add(_table_name(name), without_formulas(frame).write_csv(), f"the table {name}, as the report read it")
    if {*described.values()} - {*TYPES} or not _read(contents.path(_table_name(name)), described).equals(frame):
        raise AnalysisError(
            f"table {name}: expected values that a CSV file gives back, got others; bundle the tables of spa export"
        )
    return described


def _read(path: Path, columns: Mapping[str, str]) -> pl.DataFrame:
    what = f"{TABLES}/{path.name}"
    try:
        types = {name: TYPES[kind] for name, kind in columns.items()}
    except KeyError as error:
        raise AnalysisError(f"{INPUTS}: {what}: expected types {', '.join(TYPES)}, got {error}") from error
    read = {name: pl.String if kind == pl.Null else kind for name, kind in types.items()}
    try:
        header = pl.read_csv(path, n_rows=0, infer_schema=False).columns
        if header != [*columns]:
            raise AnalysisError(f"{what}: expected the columns that {INPUTS} names, got others; take the whole archive")
        frame = pl.read_csv(path, schema=read)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise AnalysisError(f"{what}: expected a table as spa bundle writes it, got {shortened(error, 200)}") from error
    frame = frame.with_columns(unguarded(frame.select(pl.col(pl.String))).get_columns())
    return frame.cast({name: kind for name, kind in types.items() if kind == pl.Null})


def _adapter() -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    import analysis.answers.study_facts as home
    from spa.responses.decisions import Decision

    found = TypeAdapter[Any](StudyInputs | TableInputs)
    found.rebuild(_types_namespace={**vars(home), **globals(), "Decision": Decision, "Sidecar": Sidecar}, force=True)
    return found
