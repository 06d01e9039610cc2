"""Logs of Inspect (``inspect_ai``): the scores of each sample and epoch, from ``.eval`` or JSON."""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.errors import PlatformError, ResponseError, TableError, how_to_install, shortened
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.foreign_files import LIST, OBJECT, TEXT, beginning, counted, of_kind, shown, whole
from spa.importers.label_scores import LabelScores, score_option
from spa.tables.bounds import most_unpacked
from spa.tables.json_files import json_value, read_json
from spa.tables.source import Number

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables, Row

ARCHIVE = ".eval"
HEADER, BEGUN, SAMPLES = "header.json", "_journal/start.json", "samples/"
FAULTS = (OSError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error)
ZIP, ZSTANDARD = b"PK\x03\x04", 93  # how a zip file begins; the method of its members that Python 3.14 reads itself
MOST_SAMPLES = 1_000_000
MOST_LOOKED_AT = 20  # files of a folder
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # correct, partial, incorrect, no answer, as value_to_float has them
TABLE = (b"sample_id,", b"eval_id")  # how the tables of samples_df and evals_df begin as CSV

TABLE_COLUMNS = {"sample_id", "eval_id", "epoch"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalLog:
    """What is read of one log: one task that one model did."""

    path: Path
    task: str
    model: str
    status: str
    scorers: tuple[str, ...]
    samples: Sequence[tuple[str, Mapping[str, Any]]]  # with their places


@dataclass(slots=True, kw_only=True)
class _Counts:
    """What is to be said of the samples read."""

    samples: int = 0
    errors: int = 0
    limits: Counter[str] = field(default_factory=Counter)
    lists: int = 0
    invalid: int = 0
    unscored: int = 0


def read_log(path: Path) -> EvalLog:
    """Read a log; raise ResponseError or TableError where it is none."""
    start = beginning(path)
    if start.startswith(TABLE) or path.suffix.lower() in (".csv", ".parquet"):
        raise ResponseError(
            f"{path}: expected a log (.eval, .json), got a table: those of samples_df name no model and hold no "
            "answer; name the logs from which it was made"
        )
    if not start.startswith(ZIP):
        if path.is_file() and path.suffix.lower() == ARCHIVE and not start.lstrip().startswith(b"{"):
            raise ResponseError(f"{path}: expected a log, a zip file, got another file")
        log = of_kind(OBJECT, read_json(path), str(path))
        listed = of_kind(LIST, log.get("samples") or [], f"{path}, samples")
        places = ((f"{path}, samples, entry {number}", one) for number, one in enumerate(listed, start=1))
        return _log(path, log, [(place, of_kind(OBJECT, one, place)) for place, one in places])
    with _archive(path) as archive:
        names = archive.namelist()
        if len(names) > MOST_SAMPLES:
            raise ResponseError(f"{path}: expected at most {MOST_SAMPLES:,} members, got {len(names):,}")
        header = next((name for name in (HEADER, BEGUN) if name in names), None)
        if header is None:
            raise ResponseError(f"{path}: expected a log with {HEADER}, got a zip file without it")
        left = [most_unpacked(path)]
        log = of_kind(OBJECT, _member(archive, path, header, left), f"{path}, {header}")
        members = sorted({name for name in names if name.startswith(SAMPLES) and name.endswith(".json")})
        samples = [(f"{path}, {name}", _needed(_member(archive, path, name, left), name)) for name in members]
        return _log(path, log, samples)


def _needed(sample: object, place: str) -> dict[str, Any]:
    """Return what is read of a sample, so that its transcript need not stay in memory."""
    given = of_kind(OBJECT, sample, place)
    return {name: given.get(name) for name in ("id", "epoch", "scores", "error", "limit", "invalidation")}


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a log; what is wrong with it or a member is one line."""
    reader: Any = zipfile
    faults: tuple[type[Exception], ...] = FAULTS
    try:
        with zipfile.ZipFile(path) as archive:
            methods = {member.compress_type for member in archive.infolist()}
        if ZSTANDARD in methods and not hasattr(zipfile, "ZIP_ZSTANDARD"):
            reader, fault = _zstandard(path)
            faults = (*FAULTS, reader.BadZipFile, fault)
        with reader.ZipFile(path) as archive:
            yield archive
    except faults as error:
        reason = shortened(error, 120) or type(error).__name__
        raise ResponseError(f"{path}: expected a log, a whole zip file, got: {reason}") from error


def _zstandard(path: Path) -> tuple[Any, type[Exception]]:
    """Return what reads zip files with members of Zstandard, and its error."""
    try:
        from backports.zstd import ZstdError
        from backports.zstd import zipfile as reader
    except ImportError as error:
        raise PlatformError(
            f"{path}: its members are of Zstandard, which needs the package backports.zstd: "
            f"{how_to_install('importers')}; or make it JSON with `inspect log convert --to json`"
        ) from error
    return reader, ZstdError


def _member(archive: zipfile.ZipFile, path: Path, name: str, left: list[int]) -> Any:
    """Return what a member holds; ``left`` is how many bytes the log may still unpack to."""
    place = f"{path}, {name}"
    with archive.open(name) as member:
        content = member.read(left[0] + 1)
    left[0] -= len(content)
    if left[0] < 0:
        raise ResponseError(f"{path}: expected at most {most_unpacked(path)} bytes in a file of its size, got more")
    try:
        return json_value(content.decode(), place)
    except UnicodeDecodeError as error:
        raise TableError(f"{place}: expected UTF-8") from error


def _log(path: Path, log: Mapping[str, Any], samples: Sequence[tuple[str, Mapping[str, Any]]]) -> EvalLog:
    described = of_kind(OBJECT, log.get("eval"), f"{path}, eval")
    scorers = described.get("scorers")
    named = [one.get("name") for one in scorers if isinstance(one, dict)] if isinstance(scorers, list) else []
    return EvalLog(
        path=path,
        task=of_kind(TEXT, described.get("task"), f"{path}, eval.task"),
        model=of_kind(TEXT, described.get("model"), f"{path}, eval.model"),
        status=str(log.get("status", "started")),
        scorers=tuple(name for name in named if isinstance(name, str)),
        samples=samples,
    )


def _recognise(path: Path) -> Fit:
    """By the keys with which a log begins, or the end of its name; of a folder by the logs that it holds."""
    if path.is_dir():
        inside = islice((one for one in path.glob("*") if one.suffix.lower() in (ARCHIVE, ".json")), MOST_LOOKED_AT)
        return max((_recognise(one) for one in inside if one.is_file()), default=Fit.NONE)
    start = beginning(path, 4_096)
    if path.suffix.lower() == ARCHIVE:
        return Fit.CERTAIN if start.startswith(ZIP) else Fit.NONE
    signs = (b'"version"', b'"status"', b'"eval"', b'"eval_id"')
    is_log = start.lstrip().startswith(b"{") and all(sign in start for sign in signs)
    return Fit.CERTAIN if is_log or _is_table(path, start) else Fit.NONE


def _is_table(path: Path, start: bytes) -> bool:
    """Whether a file is a table of samples_df, which is known to be refused."""
    from spa.importers.foreign_rows import names_at_beginning

    if path.suffix.lower() == ".csv":
        return start.startswith(TABLE)
    return path.suffix.lower() == ".parquet" and TABLE_COLUMNS <= names_at_beginning(path)


def _paths(given: Sequence[Path]) -> list[Path]:
    found = []
    for path in given:
        below = [*path.rglob("*")] if path.is_dir() else [path]
        logs = sorted(one for one in below if one == path or _recognise(one))
        if not logs:
            raise ResponseError(f"{path}: expected logs of Inspect (.eval, .json) in the folder, got none")
        found += [one for one in logs if one.is_file() or one == path]
    return found


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.tables import ImportedTables

    options = request.options
    people = frozenset(options.get("people") or ())
    renamed = dict(options.get("systems") or ())
    scores, counts = LabelScores({**GRADES, **(options.get("scores") or {})}), _Counts()
    logs = [read_log(path) for path in _paths(request.paths)]
    tasks = len({log.task for log in logs}) > 1
    cells: dict[tuple[str, str, int, str, str], Path] = {}
    rows: list[Row] = []
    for log in logs:
        system = renamed.pop(log.path.name, log.model)
        made = list(_rows(log, scores, counts))
        for row in made:
            row["item_id"] = f"{log.task}/{row['item_id']}" if tasks else row["item_id"]
            row |= {"system": system, "annotator_kind": "human" if row["annotator_id"] in people else "llm"}
            cell = (system, row["item_id"], row["repeat"], row["annotator_id"], row["criterion"])
            before = cells.setdefault(cell, log.path)
            if before is not log.path:
                raise ResponseError(
                    f"{log.path}: {system} has a score of {row['item_id']}, epoch {row['repeat']}, as in {before}; "
                    f"leave one of the logs out, or name its system with --log-system {shortened(log.path.name)}=NAME"
                )
        rows += made
    if renamed:
        raise ResponseError(f"--log-system {next(iter(renamed))}: no such log; there are: {_listed(logs)}")
    names = {row["annotator_id"] for row in rows}
    if unknown := people - names:
        there = shortened(", ".join(sorted(names)), 160)
        raise ResponseError(f"--human-scorer {min(unknown)}: no such scorer; there are: {there}")
    scores.check(request.paths[0])
    skipped = {"values that are lists": counts.lists, "samples that were marked as invalid": counts.invalid}
    skipped = {what: n for what, n in skipped.items() if n}
    return ImportedTables(rows={"ratings": rows}, skipped=skipped, notes=tuple(_notes(logs, names - people, counts)))


def _listed(logs: Sequence[EvalLog]) -> str:
    return shortened(", ".join(log.path.name for log in logs), 160)


def _rows(log: EvalLog, scores: LabelScores, counts: _Counts) -> Iterator[Row]:
    """Yield the scores of all samples; one of a criterion that another sample of the log has is missing."""
    read: list[tuple[str, Mapping[str, Any], dict[tuple[str, str], Row]]] = []
    asked: dict[tuple[str, str], None] = {}
    scorers: dict[str, None] = {}
    seen: set[tuple[str, int]] = set()
    for place, sample in log.samples:
        counts.samples += 1
        found = {}
        key = (_id(sample.get("id"), place), whole(sample.get("epoch", Number("1")), f"{place}, epoch"))
        if key in seen:
            raise ResponseError(f"{place}: expected each sample and epoch once, got {key[0]}, epoch {key[1]} twice")
        seen.add(key)
        if sample.get("invalidation") is not None:
            counts.invalid += 1
            continue
        for scorer, given in of_kind(OBJECT, sample.get("scores") or {}, f"{place}, scores").items():
            scorers.setdefault(scorer)
            for criterion, row in _scored(scorer, given, f"{place}, scores.{scorer}", scores, counts):
                found[scorer, criterion] = row
                asked.setdefault((scorer, criterion))
        read.append((place, sample, found))
    for scorer in scorers or log.scorers:
        if not any(scorer == one for one, _ in asked):
            asked[scorer, scorer] = None
    for place, sample, found in read:
        failed = sample.get("error") is not None
        counts.errors += failed
        limit = sample.get("limit")
        if limit is not None:
            counts.limits[str(limit.get("type")) if isinstance(limit, dict) else "a limit"] += 1
        for scorer, criterion in asked:
            row = found.get((scorer, criterion), {"score": None, "missing_reason": "not scored"})
            if row["score"] is None:
                counts.unscored += 1
            if failed and row["score"] is None:
                row = {**row, "missing_reason": "error in the sample"}
            yield {
                "annotator_id": scorer,
                "item_id": _id(sample.get("id"), place),
                "criterion": criterion,
                "repeat": whole(sample.get("epoch", Number("1")), f"{place}, epoch"),
                **row,
            }


def _id(value: object, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise ResponseError(f"{place}: expected an id, got {shown(value)}")
    return str(value)


def _scored(scorer: str, given: object, place: str, scores: LabelScores, counts: _Counts) -> Iterator[tuple[str, Row]]:
    """Yield what a scorer gave by its criteria: the keys of a value that is an object, else the scorer's name."""
    score = of_kind(OBJECT, given, place) if given is not None else {}
    value, text = score.get("value"), score.get("explanation")
    if value is None:
        return
    explanation = {"explanation": text} if isinstance(text, str) and text.strip() else {}
    for criterion, one in value.items() if isinstance(value, dict) else ((scorer, value),):
        if isinstance(one, list | dict):
            counts.lists += 1
            continue
        if isinstance(one, bool):
            found: float | None = float(one)
        else:
            found = None if one is None or not one.strip() else scores.of(one.strip())
        missing = {"missing_reason": "no value"} if found is None else {}
        yield criterion, {"score": found, **missing, **explanation}


def _notes(logs: Sequence[EvalLog], judges: set[str], counts: _Counts) -> Iterator[str]:
    systems = sorted({log.model for log in logs})
    yield (
        f"read: {counted(counts.samples, 'sample')} of {counted(len(logs), 'log')}, models "
        f"{shortened(', '.join(systems), 160)}; epochs are repeats"
    )
    if judges:
        yield (
            f"scorers {shortened(', '.join(sorted(judges)), 160)} stand as annotators that are LLMs: a log does not "
            "say who scored; of scorers that are people add --human-scorer SCORER"
        )
    if counts.errors:
        yield f"errors: {counted(counts.errors, 'sample')} ended in one; scores that they lack are missing"
    for kind, n in counts.limits.items():
        yield f"limits: {counted(n, 'sample')} met one ({shortened(kind, 40)}); the scores count"
    unfinished = [f"{log.path.name} ({log.status})" for log in logs if log.status != "success"]
    if unfinished:
        yield f"not finished: {shortened(', '.join(unfinished), 200)}; samples that are not there are not counted"


def _systems(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in given:
        log, _, name = text.rpartition("=")
        if not log or not name.strip():
            raise click.BadParameter(f"expected LOG=NAME, got {shortened(repr(text))}", context, option)
        found[log] = name.strip()
    return found


FORMAT = AnswerFormat(
    key="inspect",
    description="Read logs of Inspect, .eval or JSON.\n\n"
    "The scores of each sample and epoch are ratings, by the scorer, of the log's model; a value with several keys has "
    "as many criteria, and C, P, I, N are 1, 0.5, 0, 0. FILE may be a folder of logs.",
    example="spa import inspect logs/*.eval --out tables",
    options=(
        score_option(),
        click.Option(
            ["--human-scorer", "people"],
            multiple=True,
            metavar="SCORER",
            help="A scorer whose scores are a person's; repeatable.",
        ),
        click.Option(
            ["--log-system", "systems"],
            multiple=True,
            metavar="LOG=NAME",
            callback=_systems,
            help="System of a log, if not its model; repeatable.",
        ),
    ),
    extra="importers",
    meaning=FileMeaning(
        missing="null, NaN, no score, an error in the sample",
        left_out="samples marked as invalid; values that are lists; reductions (words are 0 there, and epochs without "
        "a score vanish)",
        seen="Inspect 0.3.285",
        source="https://inspect.aisi.org.uk/eval-logs.html",
    ),
    recognise=_recognise,
    read=_read,
)
