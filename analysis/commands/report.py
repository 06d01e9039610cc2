"""``spa report``: from a study's store, or from tables collected elsewhere, to a report."""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from analysis.commands.analysis_options import analysis_options, plan_of_options
from analysis.commands.judge_options import single_answers_only
from analysis.commands.named_files import ANSWERS, what_is_named
from analysis.commands.reading_options import reading_of, reading_options, role_option
from analysis.commands.rendering_options import rendering_of, rendering_options
from analysis.commands.verifying import are_small, refuse_differences, verify_options, verifying
from spa.commands.options import INPUT, Aliased, given_options, json_option, rehearsal_option, store_option
from spa.commands.terminal import Stages
from spa.commands.workspace import default_store, open_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from analysis.answers.options import Reading, Told
    from analysis.answers.plan import Plan
    from analysis.answers.study_facts import StudyFacts
    from analysis.answers.tables import AnswerTables
    from analysis.records.results import Results
    from analysis.sums.totals import LargeKind
    from analysis.verification.process import Verifier
    from spa.commands.workspace import Workspace

LARGE: tuple[LargeKind, ...] = ("preferences", "ratings", "choices")  # tables that may be read in parts
TABLES = (*ANSWERS, "metrics", "outputs", "identical_pairs", "annotators", "reading", "exclusions")
RENDERING = ("out", "full", "thumbnails", "paper", "pdf", "browser")
GARBAGE = 1_000_000  # objects between two searches for garbage: modules and results stay, so a search finds little
GIVEN_BACK = "dirty_decay_ms:100,muzzy_decay_ms:0"  # how long polars keeps freed memory: at once takes 0.1 s more
SMALL = 1 << 26  # bytes of tables
BESIDE_STUDY = ("metrics", "annotators")  # tables that a study may have beside its store
Files: TypeAlias = "dict[str, tuple[str | Path, ...]]"


@click.command(
    epilog="""\b
Examples:
  spa report my-study/study.toml --out report
  spa report ratings.csv
  spa report --ratings ratings.csv --map rater=annotator_id --llm gpt4 --scale 1:5 --out report
  spa report --choices choices.csv --equivalence 0.05 --correction bh --out report
  spa report --ratings 'ratings/*.parquet' --cluster local --out report
"""
)
@click.argument("named", type=click.Path(path_type=Path), metavar="[STUDY | FILE...]", nargs=-1)
@store_option
@rehearsal_option
@click.option("--preferences", multiple=True, metavar="FILE|PARTS", help="Preference probabilities; repeatable.")
@click.option("--ratings", multiple=True, metavar="FILE|PARTS", help="Ratings of single outputs; repeatable.")
@click.option("--choices", multiple=True, metavar="FILE|PARTS", help="Pairwise choices; PARTS: see --in-parts.")
@click.option("--orders", multiple=True, metavar="FILE", help="Outputs put in order: one row per output.")
@click.option("--gambles", multiple=True, metavar="FILE", help="Standard gambles: one row per choice list.")
@click.option("--spans", type=INPUT, help="Errors marked in outputs, one row per error.")
@click.option("--metrics", type=INPUT, help="Automatic metrics (of a STUDY: metrics.csv beside it).")
@click.option(
    "--output-table",
    "outputs",
    type=INPUT,
    help="What was judged, for --hold: item_id, system, text or columns of numbers.",
)
@click.option("--identical-pairs", type=INPUT, help="Ratings of outputs that equal their source.")
@click.option(
    "--annotator-table",
    "annotators",
    cls=Aliased,
    aliases=("--annotators",),
    type=INPUT,
    help="One row per annotator: screening, checks, submissions (of a STUDY: its platform's demographic export).",
)
@click.option("--reading", type=INPUT, help="How each output was seen: one row per output and page.")
@click.option("--exclusions", type=INPUT, help="Your own exclusions: annotator_id, rule, evidence.")
@click.option(
    "--in-parts",
    is_flag=True,
    help="Read and add up answers part by part, for tables larger than memory; so is a pattern ('r/*.parquet'), a "
    "folder, an address (s3://...).",
)
@click.option(
    "--cluster", metavar="WHERE", help='Read the parts on a Dask cluster: "local", slurm:FILE, tcp://HOST:PORT.'
)
@click.option(
    "--scratch",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder for temporary files of parts, 15 to 40 bytes an answer.  [the system's]",
)
@reading_options
@role_option("--role", "--system-role")
@analysis_options
@verify_options
@rendering_options
@json_option
def report(
    named: tuple[Path, ...],
    store: str | None,
    rehearsal: bool,
    in_parts: bool,
    cluster: str | None,
    scratch: Path | None,
    observed_power: float | None,
    verify: str,
    no_verify: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Report which system is preferred: tests, strengths, rankings, exclusions.

    Give a STUDY whose answers were collected here, or FILEs collected elsewhere: what their columns
    are is recognised and said, and options correct it. Tables with our own names may also be named by
    their option. The [analysis] section of a STUDY is its analysis plan; for tables, options set it.
    """
    os.environ.setdefault("_RJEM_MALLOC_CONF", GIVEN_BACK)  # before polars loads
    files = _files({name: options.pop(name) for name in TABLES})
    named_alone = what_is_named(named, [*files])
    study = named_alone.study
    for option, chosen in (("--rehearsal", rehearsal), ("--thumbnails", options["thumbnails"])):
        if chosen and study is None:
            raise click.UsageError(f"{option}: expected a STUDY, got files")
    own = () if study is None else (store or default_store(study),)
    _tune_process([*own, *named_alone.files, *_every(files)])
    from analysis.results.files import to_json

    rendering = rendering_of(**{name: options.pop(name) for name in RENDERING}, study=study, as_json=as_json)
    options = given_options(options)
    found = named_alone.tables(reading_of(options), err=as_json)
    files = {**found.files, **files}
    large = _large(files, in_parts=in_parts, cluster=cluster, scratch=scratch)
    judged = verifying(verify, no_verify=no_verify, now=large is None and are_small(_every(files)))
    with Stages() as told, found.named_in_errors(), judged as verifier:
        analysis = _Analysis(observed_power=observed_power, told=told, verifier=verifier)
        if study is not None:
            _refuse_beside_study(files, options)
            opened = partial(open_answers, study, store, rehearsal=rehearsal, quiet=as_json)
            results, paper = _of_study(opened, files, analysis)
            rendering = replace(rendering, paper=rendering.paper or paper)
        else:
            plan = _plan_for(files, options, found.reading, large)
            if large is None:
                results = _of_tables(files, found.reading, plan, analysis)
            else:
                results = _of_parts(files, found.reading, plan, large, analysis)
            inputs = found.noted(results.settings.inputs)
            results = replace(results, settings=replace(results.settings, inputs=inputs))
        told("writing the report")
        results = rendering.write(results, verifier)
        if rendering.folder is not None:
            found.keep(rendering.folder)
    if as_json:
        click.echo(to_json(results), nl=False)
    else:
        from analysis.commands.printed_answer import print_answer

        print_answer(results, found.printed)
        click.echo(f"report: {rendering.page}")
    refuse_differences(results, verify)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Analysis:
    """What goes on beside an analysis, wherever its answers are from."""

    observed_power: float | None
    told: Told
    verifier: Verifier | None

    def of(self, tables: AnswerTables, plan: Plan, facts: StudyFacts | None = None) -> Results:
        from analysis.results.analyse import analyse

        return analyse(
            tables, plan, study=facts, observed_power=self.observed_power, told=self.told, verifier=self.verifier
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Large:
    """The table that is read in parts, and where."""

    kind: LargeKind
    cluster: str | None
    scratch: Path | None


def _files(given: dict[str, Any]) -> Files:
    """Return the files of each table that was named."""
    named: Files = {}
    for name, value in given.items():
        paths = value if isinstance(value, tuple) else () if value is None else (value,)
        if paths:
            named[name] = tuple(map(Path, paths)) if name not in LARGE else tuple(paths)
    return named


def _every(files: Files) -> list[str | Path]:
    return [path for several in files.values() for path in several]


def _tune_process(files: Sequence[str | Path]) -> None:
    """Search for garbage less often; where the tables are small, save threads; to do before libraries load."""
    gc.set_threshold(GARBAGE)
    if not all(map(os.path.isfile, files)) or sum(map(os.path.getsize, files)) >= SMALL:
        return
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # of more, each waits for the others at full load


def _large(files: Files, *, in_parts: bool, cluster: str | None, scratch: Path | None) -> _Large | None:
    """Return the table that is read in parts: on a cluster, too, if it is asked for, or if its place is no file."""
    from analysis.parts.locations import is_in_parts

    asked = in_parts or cluster is not None
    named: list[LargeKind] = [
        kind for kind in LARGE if kind in files and (asked or any(map(is_in_parts, map(str, files[kind]))))
    ]
    if named and len(files[named[0]]) > 1:
        raise click.UsageError(f"--{named[0]}: expected one pattern, folder or address, or files alone")
    if asked and not named:
        raise click.UsageError("--in-parts, --cluster: expected --preferences, --ratings or --choices")
    return _Large(kind=named[0], cluster=cluster, scratch=scratch) if named else None


def _refuse_beside_study(files: Files, options: Mapping[str, Any]) -> None:
    also = [*(table for table in files if table not in BESIDE_STUDY), *options]
    if also:
        first_names = {param.name: param.opts[0] for param in click.get_current_context().command.params}
        named = ", ".join(first_names[name] for name in also)
        raise click.UsageError(f"{named}: not with a STUDY, whose [analysis] section sets it")


def _first(several: Sequence[str | Path] | None) -> Path | None:
    return Path(several[0]) if several else None


def _of_study(
    opened: Callable[[], AbstractContextManager[Workspace]], files: Files, analysis: _Analysis
) -> tuple[Results, str | None]:
    """Analyse the answers of a study; return the class of a paper that the study names, too."""
    from analysis.answers.study_answers import answers_of

    with opened() as workspace:
        metrics, people = (_first(files.get(table)) for table in BESIDE_STUDY)
        found = answers_of(workspace, metrics=metrics, people=people, told=analysis.told)
        paper = workspace.study.report.paper
    return analysis.of(found.tables, found.plan, found.facts), paper


def _plan_for(files: Files, options: Mapping[str, Any], reading: Reading, large: _Large | None) -> Plan:
    """Return the plan that options set; raise UsageError where the tables cannot be analysed by it."""
    plan = plan_of_options(options, reading.mapping)
    if plan.control and (large is not None or not {"preferences", "choices", "orders"} & {*files}):
        raise click.UsageError("--hold: expected --preferences or --choices, in memory; it is about comparisons")
    if plan.flips is not None and not {"choices", "orders"} & {*files}:
        raise click.UsageError("--flips: expected --choices; it is about choices between two outputs")
    return plan


def _of_tables(files: Files, reading: Reading, plan: Plan, analysis: _Analysis) -> Results:
    """Analyse tables collected elsewhere, as they are in memory."""
    from analysis.answers.sidecars import metric_files
    from analysis.answers.tables import read_tables
    from spa.records.covariates import control_columns

    reading = replace(reading, people_columns=plan.compare_people_by)
    reading = replace(reading, output_columns=control_columns(plan.control) if "outputs" in files else ())
    named = {name: tuple(map(Path, several)) for name, several in files.items() if name != "metrics"}
    metrics = metric_files(_first(files.get("metrics")))
    return analysis.of(read_tables({**named, **metrics}, reading, told=analysis.told), plan)


def _of_parts(files: Files, reading: Reading, plan: Plan, large: _Large, analysis: _Analysis) -> Results:
    """Analyse tables collected elsewhere, one of them in parts."""
    for option in (*(["--observed-power"] if analysis.observed_power is not None else []), *single_answers_only(plan)):
        raise click.UsageError(f"{option}: not with --{large.kind} in parts")
    from analysis.commands.tables_in_parts import analyse_in_parts

    where = str(files[large.kind][0])
    beside = {name: Path(several[0]) for name, several in files.items() if name != large.kind}
    return analyse_in_parts(where, large.kind, beside, reading, plan, cluster=large.cluster, scratch=large.scratch)
