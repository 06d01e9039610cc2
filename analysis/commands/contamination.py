"""``spa contamination``: whether a local model may have been trained on the study's texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import INPUT, Aliased, Finite, json_option, out_folder_option, study_argument

if TYPE_CHECKING:
    from spa.raters.local.model_folder import LoadedModel
    from spa.records.study import Study

SHARE = Finite(0, 1, min_open=True, max_open=True)


@click.command(
    epilog="Example: spa contamination my-study/study.toml --model models/my-model --controls known.jsonl --out seen"
)
@study_argument
@click.option("--model", required=True, metavar="RATER|FOLDER", help="Local rater of STUDY, folder, GGUF file or name.")
@click.option(
    "--controls",
    type=INPUT,
    help="Texts like the study's with the columns text and seen (true or false): CSV, JSONL or Parquet.",
)
@click.option(
    "--min-k",
    "share",
    cls=Aliased,
    aliases=("--share",),
    type=SHARE,
    default=0.2,
    show_default=True,
    help="K of Min-K, as a share; set it in advance.",
)
@click.option(
    "--false-positive-rate",
    type=SHARE,
    default=0.05,
    show_default=True,
    help="Share of unseen texts that may be predicted as seen.",
)
@click.option("--window", type=click.IntRange(min=16), help="Tokens read at once. [default: as many as the model can]")
@click.option("--float64", cls=Aliased, aliases=("--double",), is_flag=True, help="Compute with 64 bits.")
@out_folder_option("Folder for contamination.json, .html, .md, .csv and the figure. [default: STUDY's]")
@json_option
def contamination(
    study: Path,
    model: str,
    controls: Path | None,
    share: float,
    false_positive_rate: float,
    window: int | None,
    float64: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Look for signs that a local model was trained on the texts of STUDY.

    Scored are the texts of items and the outputs of systems with role "human" or "reference", never those of other
    systems: Min-K% Prob, with Min-K%++, likelihood and zlib beside it. How many texts are predicted as seen is said
    only where --controls gives texts of which this is known. ``spa report`` takes up a contamination.json beside STUDY,
    and contamination-MODEL.json, which runs on further models write.
    """
    import json
    import time
    from dataclasses import asdict

    from analysis.answers.study_texts import study_texts
    from analysis.contamination.controls import read_controls
    from analysis.contamination.results import contamination as summarise
    from analysis.contamination.results import scored_texts, text_rows
    from analysis.contamination.section import conclusions
    from analysis.report.contamination_page import write_page
    from spa.errors import AnalysisError
    from spa.raters.local.token_statistics import token_statistics
    from spa.study.load import load_study
    from spa.study.outputs import load_outputs

    loaded_study = load_study(study)
    texts = study_texts(loaded_study, load_outputs(loaded_study))
    if not texts:
        raise AnalysisError(
            f'study {loaded_study.id!r}: expected texts of items, or a system with role = "human" or "reference", got '
            "none; outputs of systems are never scored"
        )
    texts += read_controls(controls) if controls is not None else []
    loaded = _load(loaded_study, model, study.parent, float64=float64)
    start = time.perf_counter()
    scored = scored_texts(texts, token_statistics(loaded, [one.text for one in texts], window=window), share=share)
    seconds = time.perf_counter() - start
    found = summarise(
        scored,
        model=model,
        fingerprint=loaded.fingerprint,
        dtype=loaded.dtype,
        share=share,
        false_positive_rate=false_positive_rate,
    )
    paths = write_page(found, text_rows(scored, found.thresholds), out or study.parent)
    if as_json:
        summary = {
            "aucs": {name: asdict(area) for name, area in found.aucs.items()},
            "thresholds": found.thresholds,
            "predicted": [asdict(row) for row in found.predicted],
        }
        click.echo(json.dumps(summary, indent=1))
        return
    tokens = sum(one.n_tokens for one in scored)
    click.echo(f"{len(texts):,} texts, {tokens:,} tokens, {tokens / max(seconds, 1e-9):,.0f} a second")
    click.echo("\n".join([*conclusions(found), *(f"wrote {path}" for path in paths)]))


def _load(study: Study, model: str, folder: Path, *, float64: bool) -> LoadedModel:
    """Load a rater's model, whose folder begins at the study's, or one named by itself."""
    from spa.raters.local.model_folder import choose_threads, load_model
    from spa.raters.vendors import vendor_of
    from spa.records.raters import Rater

    rater = next((one for one in study.raters if one.id == model and vendor_of(one).on_this_machine), None)
    base = Path() if rater is None else folder
    loaded = load_model(rater or Rater(id="--model", model=model), base, float64=float64)
    import torch

    torch.set_num_threads(choose_threads())
    return loaded
