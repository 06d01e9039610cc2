"""Answers that ``spa report`` reads in parts: beside which tables, where they are computed, and what is watched."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import click

from analysis.answers.exclusions import find_exclusions
from analysis.answers.given_names import written_plan
from analysis.answers.groups import kinds_by_annotator
from analysis.answers.options import Reading
from analysis.answers.plan import Plan
from analysis.answers.same_names import explicit_same
from analysis.answers.tables import AnswerTables, read_annotator_tables
from analysis.parts.ids import beside_inputs
from analysis.parts.preferences import read_preferences
from analysis.parts.reading import read_totals
from analysis.records.results import Results
from analysis.results.analyse_preferences import analyse_preferences_in_parts
from analysis.results.analyse_sums import analyse_totals
from analysis.sums.totals import LargeKind
from spa.cluster import is_local, open_cluster
from spa.errors import AnalysisError

BESIDE = ("annotators", "exclusions")  # tables that answers in parts may have beside them


def analyse_in_parts(
    where: str,
    kind: LargeKind,
    beside: dict[str, Path],
    reading: Reading,
    plan: Plan,
    *,
    cluster: str | None,
    scratch: Path | None,
) -> Results:
    """Read a table of answers in parts, here or on a cluster, and analyse its sums."""
    options = {"--unnamed": reading.unnamed, "--means": reading.means, "--control": bool(reading.controls)}
    options |= {"--role": bool(reading.system_roles), "--item-from": reading.item_from is not None}
    options["--cut-system"] = reading.cut_system
    if any(options.values()):
        named = ", ".join(option for option, given in options.items() if given)
        raise click.UsageError(f"{named}: not with --{kind} in parts; expected a table that fits into memory")
    refused = [f"--{name.replace('_', '-')}" for name in beside if name not in BESIDE]
    if refused:
        raise click.UsageError(f"{', '.join(refused)}: not with --{kind} in parts; analyse it by itself")
    if cluster is not None and not is_local(cluster) and scratch is None:
        raise click.UsageError(f"--cluster {cluster}: expected --scratch FOLDER, which all workers can reach")
    tables = read_annotator_tables(beside, reading)
    plan = written_plan(plan, (), (), explicit_same(reading.same))
    if kind == "preferences":
        with nullcontext() if cluster is None else open_cluster(cluster) as client:
            found = read_preferences(
                where, reading, plan, beside=tables, client=client, scratch=scratch, progress=_progress
            )
        return analyse_preferences_in_parts(found, plan)
    _refuse_later_submissions(tables, plan)
    exclusions = find_exclusions(tables, plan)
    others = {name: table for name in BESIDE if (table := getattr(tables, name)) is not None}
    with nullcontext() if cluster is None else open_cluster(cluster) as client:
        totals = read_totals(
            where,
            kind,
            reading,
            annotator_kinds=kinds_by_annotator(others),
            exclusions=exclusions,
            client=client,
            scratch=scratch,
            progress=_progress,
        )
    return analyse_totals(
        replace(totals, inputs=(*totals.inputs, *beside_inputs(tables, totals.absent))), plan, exclusions=exclusions
    )


def _refuse_later_submissions(tables: AnswerTables, plan: Plan) -> None:
    """Refuse a rule for which the order of a person's assignments is needed."""
    annotators = tables.annotators
    if plan.repeat_submissions != "first" or annotators is None or "submissions" not in annotators.columns:
        return
    if (annotators["submissions"] > 1).any():
        raise AnalysisError(
            'repeat_submissions = "first": expected answers in one file, got a table in parts, whose sums do not say '
            'which submission was the first; choose "exclude"'
        )


def _progress(what: str, done: int, of: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{what}: {done} of {of}", err=True, nl=done == of)
