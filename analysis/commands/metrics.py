"""``spa metrics``: automatic metrics of a study's outputs, as tables that ``spa report`` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from spa.commands.options import INPUT, json_option, out_folder_option, study_argument
from spa.commands.terminal import console, progress_bar

if TYPE_CHECKING:
    from analysis.metrics.metric_values import ComputedMetrics

NAMES = ("rouge", "bleu", "chrf", "ter", "sari", "errant", "bertscore", "length", "readability")


@click.command(
    epilog="""\b
Examples:
  spa metrics my-study/study.toml
  spa metrics my-study/study.toml --metric rouge,bleu --metric mine=scores.csv
"""
)
@study_argument
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAMES|NAME=SOURCE",
    help=f"Comma-separated: {', '.join(NAMES)}; or one of your own, from a table (item_id, system, score) or a "
    "Python function as MODULE:FUNCTION. Repeatable. [default: all that can be computed here]",
)
@click.option("--lower-is-better", multiple=True, metavar="NAME", help="Own metric where less is better; repeatable.")
@click.option("--bertscore-model", type=INPUT, help="Folder of a transformers model.")
@click.option("--bertscore-layer", type=int, default=-1, show_default=True, help="Layer of it; -1 is the last.")
@click.option("--spacy-model", default="en_core_web_sm", show_default=True, help="Model for errant, or its folder.")
@out_folder_option("Folder for metrics.csv and corpus_metrics.csv. [default: STUDY's]")
@json_option
def metrics(
    study: Path,
    metrics: tuple[str, ...],
    lower_is_better: tuple[str, ...],
    bertscore_model: Path | None,
    bertscore_layer: int,
    spacy_model: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compute automatic metrics of the outputs of STUDY.

    metrics.csv has a score of every output, corpus_metrics.csv one of every system, each with library, version and
    settings. `spa report STUDY` reads them where they lie beside STUDY. What cannot be computed is named.
    """
    import json

    from analysis.metrics.metric_values import compute_metrics
    from analysis.metrics.scores import MetricSettings
    from spa.responses.table_files import write_table
    from spa.study.load import load_study
    from spa.study.outputs import load_outputs

    names, own = _chosen(metrics)
    if unknown := [name for name in lower_is_better if name not in own]:
        given = ", ".join(own) or "none"
        raise click.UsageError(f"--lower-is-better: expected a metric of your own ({given}), got {unknown[0]!r}")
    loaded = load_study(study)
    outputs = load_outputs(loaded)
    settings = MetricSettings(
        bertscore_model=bertscore_model,
        bertscore_layer=bertscore_layer,
        spacy_model=spacy_model,
    )
    every = len(names or NAMES) + len(own)
    with progress_bar(length=every, label="Computing", hidden=as_json) as bar:
        found = compute_metrics(
            loaded,
            outputs,
            names,
            settings,
            own=own,
            lower_is_better=frozenset(lower_is_better),
            step=lambda name: bar.update(1),
        )
    folder, rows = out or study.parent, {}
    for name, frame in (("metrics", found.scores), ("corpus_metrics", found.corpus)):
        path = folder / f"{name}.csv"
        write_table(frame, path, format="csv")
        rows[str(path)] = frame.height
    if as_json:
        content = {"files": rows, "corpus": found.corpus.to_dicts(), "notes": found.notes}
        click.echo(json.dumps(content, ensure_ascii=False))
        return
    _print(found)
    for file, count in rows.items():
        click.echo(f"{file}: {count} rows")


def _chosen(given: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """Split what was given into known names, each once, and own metrics with their sources."""
    names: list[str] = []
    own: dict[str, str] = {}
    for text in given:
        name, sign, source = text.partition("=")
        if sign:
            if not name or not source or name in own or name in NAMES:
                raise click.UsageError(f"expected --metric NAME=FILE|MODULE:FUNCTION with a new name, got {text!r}")
            own[name] = source
            continue
        names += [each.strip() for each in text.split(",")]
    if unknown := [name for name in names if name not in NAMES]:
        raise click.UsageError(f"expected --metric {', '.join(NAMES)}, or NAME=SOURCE, got {unknown[0]!r}")
    return list(dict.fromkeys(names)), own


def _print(found: ComputedMetrics) -> None:
    from rich.markup import escape
    from rich.table import Table

    systems = found.corpus["system"].unique(maintain_order=True).to_list()
    by_metric: dict[str, dict[str, float]] = {}
    for row in found.corpus.iter_rows(named=True):
        by_metric.setdefault(row["metric"], {})[row["system"]] = row["score"]
    where = console()
    aside: Literal["center", "left"] = "center" if where.is_terminal else "left"
    title = "Metrics of all outputs of a system together"
    table = Table("metric", *map(escape, systems), title=title, title_justify=aside)
    for name, scores in by_metric.items():
        table.add_row(escape(name), *(f"{scores[one]:.2f}" if one in scores else "" for one in systems))
    where.print(table)
    for note in found.notes:
        click.echo(note)
