"""``spa report``: from a study's store, or from tables collected elsewhere, to a report."""

from __future__ import annotations

import gc
import os
import re
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from analysis.commands.judge_options import judge_options, judges_of, single_answers_only
from analysis.commands.named_files import ANSWERS, what_is_named
from analysis.commands.reading_options import reading_of, reading_options, role_option
from analysis.commands.verifying import are_small, refuse_differences, verified, verify_options, verifying
from spa.commands.options import (
    Aliased,
    Finite,
    json_option,
    out_folder_option,
    rehearsal_option,
    store_option,
)
from spa.commands.terminal import Stages
from spa.commands.workspace import default_store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from analysis.answers.options import Reading, Told
    from analysis.answers.plan import Plan
    from analysis.answers.study_facts import StudyFacts
    from analysis.answers.tables import AnswerTables
    from analysis.records.results import Results
    from analysis.sums.totals import LargeKind
    from analysis.verification.process import Verifier

LARGE: tuple[LargeKind, ...] = ("preferences", "ratings", "choices")  # tables that may be read in parts
TABLES = (*ANSWERS, "metrics", "outputs", "identical_pairs", "annotators", "reading", "exclusions")
DEFAULT_FOLDER = Path("report")
GARBAGE = 1_000_000  # objects between two searches for garbage: modules and results stay, so a search finds little
GIVEN_BACK = "dirty_decay_ms:0,muzzy_decay_ms:0"  # polars keeps no freed memory: 15 MB less of 300, as fast
PLAN = (
    "fwer",
    "confidence",
    "family",
    "correction",
    "unit",
    "rating_test",
    "max_failed_checks",
    "min_outputs_seen",
    "max_words_per_minute",
    "max_same_answers",
    "post_screening",
    "repeat_submissions",
    "extra_answers",
    "incomplete_answers",
    "regularisation",
    "epsilon",
    "compare_people_least",
    "camps",
    "seed",
)
MARGINS = {"equivalence": "equivalence_margin", "equivalence_ratings": "equivalence_margin_ratings"}
FILE = click.Path(path_type=Path)
Paths: TypeAlias = "dict[str, tuple[str | Path, ...]]"
SMALL = 1 << 26  # bytes of tables


class Tau(click.ParamType[Decimal]):
    """A decimal between 1 and 2."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """Read the decimal as written: 1.1 is exactly 1.1."""
        try:
            tau = Decimal(value)
        except InvalidOperation:
            self.fail(f"expected a number from 1 to 2, got {value!r}", param, ctx)
        if not (tau.is_finite() and 1 <= tau <= 2):
            self.fail(f"expected a number from 1 to 2, got {value!r}", param, ctx)
        return tau


SHARE = Finite(0, 1, min_open=True, max_open=True)


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
@click.option("--spans", type=FILE, help="Errors marked in outputs, one row per error.")
@click.option("--metrics", type=FILE, help="Automatic metrics (of a STUDY: metrics.csv beside it).")
@click.option(
    "--output-table",
    "outputs",
    type=FILE,
    help="What was judged, for --hold: item_id, system, text or columns of numbers.",
)
@click.option("--identical-pairs", type=FILE, help="Ratings of outputs that equal their source.")
@click.option(
    "--annotator-table",
    "annotators",
    cls=Aliased,
    aliases=("--annotators",),
    type=FILE,
    help="One row per annotator: screening, checks, submissions (of a STUDY: its platform's demographic export).",
)
@click.option("--reading", type=FILE, help="How each output was seen: one row per output and page.")
@click.option("--exclusions", type=FILE, help="Your own exclusions: annotator_id, rule, evidence.")
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
@click.option(
    "--lower-is-better", multiple=True, metavar="NAME", help="Criterion where a low rating is better; repeatable."
)
@click.option("--expected", multiple=True, metavar='"X > Y"', help='Expected preference, or "X ~ Y"; repeatable.')
@click.option(
    "--pair",
    "pairs",
    nargs=2,
    multiple=True,
    metavar="X Y",
    help="Pair of systems compared; repeatable. [those of the preferences, else expected, else all]",
)
@click.option("--pairs", "pairs_file", type=FILE, help="Table of the pairs compared: system_x, system_y.")
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="SYSTEM",
    help="System that metrics compare the others with, left out of their correlations; repeatable.",
)
@judge_options
@click.option("--fwer", type=SHARE, help="Error rate of each family of tests.  [0.05]")
@click.option(
    "--consistency-tau",
    cls=Aliased,
    aliases=("--tau",),
    type=Tau(),
    help="Maximum of P(x>y) + P(y>x); annotators above it are excluded.  [1.1]",
)
@click.option("--keep-inconsistent", is_flag=True, help="Exclude nobody for inconsistent answers.")
@click.option("--confidence", type=SHARE, help="Confidence level of intervals.  [0.95]")
@click.option("--family", type=click.Choice(["criterion", "all"]), help="Tests corrected together.  [criterion]")
@click.option(
    "--correction", type=click.Choice(["holm", "bh"]), help="Holm, or Benjamini-Hochberg (false discoveries).  [holm]"
)
@click.option(
    "--unit", type=click.Choice(["auto", "annotator", "item"]), help="Unit that tests generalise over.  [auto]"
)
@click.option(
    "--rating-test", type=click.Choice(["auto", "welch"]), help="Paired test where items are shared, or Welch.  [auto]"
)
@click.option("--max-failed-checks", type=click.IntRange(min=0), help="Attention checks that may be failed.  [0]")
@click.option(
    "--min-outputs-seen", type=Finite(0, 1, min_open=True), help="Share of outputs that a person must have seen."
)
@click.option(
    "--max-words-per-minute", type=Finite(0, min_open=True), help="Fastest reading allowed, in words a minute."
)
@click.option("--max-same-answers", type=Finite(0.5, 1, max_open=True), help="Share of answers that may be the same.")
@click.option(
    "--post-screening",
    type=click.Choice(["bs1534", "p808"]),
    multiple=True,
    help="Leave out listeners by BS.1534-3 (hidden reference, mid anchor), or sessions of equal votes (P.808); "
    "repeatable.",
)
@click.option(
    "--repeat-submissions",
    type=click.Choice(["exclude", "first"]),
    help="Repeated submissions of one annotator.  [exclude]",
)
@click.option(
    "--extra-answers", type=click.Choice(["exclude", "keep"]), help="Late submissions after reassignment.  [exclude]"
)
@click.option("--incomplete-answers", type=click.Choice(["exclude", "keep"]), help="Incomplete submissions.  [exclude]")
@click.option(
    "--regularisation", type=Finite(0, min_open=True), help="Pseudo-wins added to every pair (Bradley-Terry)."
)
@click.option(
    "--epsilon",
    type=Finite(0, 1, max_open=True),
    help="Margin by which an LLM may be worse than a person: 0.2 for experts, 0.15 skilled, 0.1 crowds.  [0.1]",
)
@click.option(
    "--equivalence",
    type=Finite(0, 0.5, min_open=True, max_open=True),
    metavar="MARGIN",
    help="Test whether preferences and choices lie within MARGIN of 0.5.",
)
@click.option(
    "--equivalence-ratings",
    type=Finite(0, min_open=True),
    metavar="POINTS",
    help="Test whether mean ratings differ by less than POINTS.",
)
@click.option(
    "--observed-power",
    type=SHARE,
    metavar="LEVEL",
    help="Add Figure 2 of Ethayarajh & Jurafsky: power at the effects found. It restates p and is no further evidence.",
)
@click.option(
    "--hold",
    multiple=True,
    metavar="length|markdown|column:NAME",
    help="Fit strengths with this held constant, too; repeatable.",
)
@click.option(
    "--compare-people-by",
    multiple=True,
    metavar="COLUMN",
    help="Compare preferences by a column of the annotators, such as screening:native; repeatable.",
)
@click.option(
    "--compare-people-least",
    type=click.IntRange(min=3),
    help="People, below whom neither figures nor number of a subgroup are shown.  [10]",
)
@click.option("--camps", is_flag=True, help="Test whether people fall into two camps about a pair.")
@click.option("--seed", type=click.IntRange(min=0), help="Random seed, stored with the results.  [0]")
@verify_options
@click.option("--full", is_flag=True, help="Put the appendix into the report itself.")
@click.option("--thumbnails", is_flag=True, help="Of a STUDY: show small pictures of outputs beside explanations.")
@click.option(
    "--paper",
    type=click.Choice(["acl", "neurips", "generic"]),
    help="Write paper/, too: tables and figures that fit the columns of this LaTeX class.  [[report] of the STUDY]",
)
@click.option("--pdf", is_flag=True, help="Write report.pdf and appendix.pdf too, printed by Chromium, Chrome or Edge.")
@click.option(
    "--browser",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="SPA_BROWSER",
    show_envvar=True,
    help="Browser that prints the PDF, where it is not found by itself.",
)
@out_folder_option("Folder for the report.  [report, without --json]")
@json_option
def report(
    named: tuple[Path, ...],
    store: str | None,
    rehearsal: bool,
    out: Path | None,
    as_json: bool,
    observed_power: float | None,
    full: bool,
    thumbnails: bool,
    paper: str | None,
    pdf: bool,
    browser: Path | None,
    in_parts: bool,
    cluster: str | None,
    scratch: Path | None,
    verify: str,
    no_verify: bool,
    **options: Any,
) -> None:
    """Report which system is preferred: tests, strengths, rankings, exclusions.

    Give a STUDY whose answers were collected here, or FILEs collected elsewhere: what their columns
    are is recognised and said, and options correct it. Tables with our own names may also be named by
    their option. The [analysis] section of a STUDY is its analysis plan; for tables, options set it.
    """
    os.environ.setdefault("_RJEM_MALLOC_CONF", GIVEN_BACK)  # before polars loads
    paths = _paths({name: options.pop(name) for name in TABLES})
    given_by_name = what_is_named(named, [*paths])
    study = given_by_name.study
    if rehearsal and study is None:
        raise click.UsageError("--rehearsal: expected a STUDY, got files")
    if thumbnails and study is None:
        raise click.UsageError("--thumbnails: expected a STUDY, got files")
    own = () if study is None else (store or default_store(study),)
    _tune_process([*own, *given_by_name.files, *(path for several in paths.values() for path in several)])
    from analysis.results.analyse import analyse
    from analysis.results.files import to_json

    if out is None and not as_json:
        out = DEFAULT_FOLDER
    if out is None and (full or pdf or paper is not None):
        raise click.UsageError(f"{'--full, --pdf' if full or pdf else '--paper'}: expected --out DIRECTORY, too")
    if pdf:
        from analysis.report.pdf import find_browser

        find_browser(browser)  # before the analysis, which may take minutes
    given = {name: value for name, value in options.items() if value is not None and value is not False and value != ()}
    found = given_by_name.tables(reading_of(given), err=as_json)
    paths = {**found.files, **paths}
    large = _large(paths, in_parts=in_parts or cluster is not None)
    now = large is None and are_small(file for several in paths.values() for file in several)
    judged = verifying(verify, no_verify=no_verify, now=now)
    with Stages() as told, found.named_in_errors(), judged as verifier:
        if study is not None:
            beside = {"metrics": _of_study(paths, "metrics"), "people": _of_study(paths, "annotators")}
            if paths or given:
                options_of = {param.name: param.opts[0] for param in click.get_current_context().command.params}
                also = ", ".join(options_of[name] for name in [*paths, *given])
                raise click.UsageError(f"{also}: not with a STUDY, whose [analysis] section sets it")
            tables, plan, facts, own_paper = _from_study(
                study, store, beside, rehearsal=rehearsal, quiet=as_json, told=told
            )
            paper = paper or own_paper
            results = analyse(tables, plan, study=facts, observed_power=observed_power, told=told, verifier=verifier)
        else:
            results = _of_tables(
                paths, given, found.reading, large, observed_power, told, verifier, cluster=cluster, scratch=scratch
            )
            inputs = found.noted(results.settings.inputs)
            results = replace(results, settings=replace(results.settings, inputs=inputs))
        told("writing the report")
        before = None
        if out is not None and verifier is not None:
            from analysis.report import made_before

            before = made_before(results)  # while libraries compute figures again
        results = verified(results, verifier)
        if out is not None:
            from analysis.commands.thumbnails import thumbnails_of
            from analysis.report.files import write_results

            small = thumbnails_of(study) if thumbnails and study is not None else None
            write_results(
                results, out, full=full, pdf=pdf, browser=browser, thumbnails=small, paper=paper, before=before
            )
            found.keep(out)
    if as_json:
        click.echo(to_json(results), nl=False)
    else:
        from analysis.commands.printed_answer import print_answer

        assert out is not None
        print_answer(results, found.printed)
        click.echo(f"report: {out / ('report.pdf' if pdf else 'report.html')}")
    refuse_differences(results, verify)


def _tune_process(files: Sequence[str | Path]) -> None:
    """Search for garbage less often; where the tables are small, save threads; to do before libraries load."""
    gc.set_threshold(GARBAGE)
    if not all(map(os.path.isfile, files)) or sum(map(os.path.getsize, files)) >= SMALL:
        return
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # of more, each waits for the others at full load


def _from_study(
    path: Path, store: str | None, beside: dict[str, Path | None], *, rehearsal: bool, quiet: bool, told: Told
) -> tuple[AnswerTables, Plan, StudyFacts | None, str | None]:
    """Return the answers, the plan, what is known of the study, and the class of a paper that it names."""
    from analysis.answers.study_answers import answers_of
    from spa.commands.workspace import open_answers

    with open_answers(path, store, rehearsal=rehearsal, quiet=quiet) as workspace:
        found = answers_of(workspace, metrics=beside["metrics"], people=beside["people"], told=told)
        return found.tables, found.plan, found.facts, workspace.study.report.paper


def _paths(given: dict[str, Any]) -> Paths:
    """Return the files of each table that was named."""
    named: Paths = {}
    for name, value in given.items():
        paths = value if isinstance(value, tuple) else () if value is None else (value,)
        if paths:
            named[name] = tuple(map(Path, paths)) if name not in LARGE else tuple(paths)
    return named


def _of_study(paths: Paths, table: str) -> Path | None:
    """Take a table that a study may have beside its store out of those that were named."""
    named = paths.pop(table, ())
    return Path(named[0]) if named else None


def _large(paths: Paths, *, in_parts: bool) -> LargeKind | None:
    """Return the table that is read in parts."""
    from analysis.parts.locations import is_in_parts

    named: list[LargeKind] = [
        kind for kind in LARGE if kind in paths and (in_parts or any(map(is_in_parts, map(str, paths[kind]))))
    ]
    if named and len(paths[named[0]]) > 1:
        raise click.UsageError(f"--{named[0]}: expected one pattern, folder or address, or files alone")
    if in_parts and not named:
        raise click.UsageError("--in-parts, --cluster: expected --preferences, --ratings or --choices")
    return named[0] if named else None


def _of_tables(
    paths: Paths,
    given: dict[str, Any],
    reading: Reading,
    large: LargeKind | None,
    observed_power: float | None,
    told: Told,
    verifier: Verifier | None,
    *,
    cluster: str | None,
    scratch: Path | None,
) -> Results:
    """Analyse tables collected elsewhere: one of them in parts, or all as they are in memory."""
    from analysis.answers.sidecars import metric_files
    from analysis.answers.tables import read_tables
    from analysis.results.analyse import analyse
    from spa.records.covariates import control_columns

    plan = replace(_plan(given), pairs=_pairs(given, reading.mapping))
    if plan.control and (large is not None or not {"preferences", "choices", "orders"} & {*paths}):
        raise click.UsageError("--hold: expected --preferences or --choices, in memory; it is about comparisons")
    if plan.flips is not None and not {"choices", "orders"} & {*paths}:
        raise click.UsageError("--flips: expected --choices; it is about choices between two outputs")
    if large is None:
        reading = replace(reading, people_columns=plan.compare_people_by)
        reading = replace(reading, output_columns=control_columns(plan.control) if "outputs" in paths else ())
        metrics = metric_files(_of_study(paths, "metrics"))
        files = {name: tuple(map(Path, several)) for name, several in paths.items()}
        tables = read_tables({**files, **metrics}, reading, told=told)
        return analyse(tables, plan, observed_power=observed_power, told=told, verifier=verifier)
    for option in (*(["--observed-power"] if observed_power is not None else []), *single_answers_only(plan)):
        raise click.UsageError(f"{option}: not with --{large} in parts")
    from analysis.commands.tables_in_parts import analyse_in_parts

    where = str(paths[large][0])
    beside = {name: Path(several[0]) for name, several in paths.items() if name != large}
    return analyse_in_parts(where, large, beside, reading, plan, cluster=cluster, scratch=scratch)


def _plan(given: dict[str, Any]) -> Plan:
    from analysis.answers.plan import Plan, parse_expectations

    chosen = {name: given[name] for name in PLAN if name in given}
    chosen |= {field: given[name] for name, field in MARGINS.items() if name in given}
    if given.get("keep_inconsistent"):
        if "consistency_tau" in given:
            raise click.UsageError("--consistency-tau or --keep-inconsistent, not both")
        chosen["consistency_tau"] = None
    elif "consistency_tau" in given:
        chosen["consistency_tau"] = given["consistency_tau"]
    if given.get("controls") and "max_failed_checks" in given:
        chosen["max_failed_controls"] = given["max_failed_checks"]
    return Plan(
        expected=parse_expectations(given.get("expected", ()), "--expected"),
        lower_is_better=frozenset(given.get("lower_is_better", ())),
        control=_held(given),
        compare_people_by=tuple(dict.fromkeys(given.get("compare_people_by", ()))),
        references=tuple(given.get("references", ())),
        **judges_of(given),
        **chosen,
    )


def _held(given: dict[str, Any]) -> tuple[str, ...]:
    from spa.records.covariates import CONTROL

    held = tuple(dict.fromkeys(given.get("hold", ())))
    for one in held:
        if re.match(CONTROL, one) is None:
            raise click.UsageError(f"--hold: expected length, markdown or column:NAME, got {one!r}")
    return held


def _pairs(given: dict[str, Any], mapping: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    from analysis.answers.pairs import read_pairs

    table = given.get("pairs_file")
    return (*given.get("pairs", ()), *(read_pairs(table, mapping) if table is not None else ()))
