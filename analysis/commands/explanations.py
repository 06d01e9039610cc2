"""``spa explanations``: keywords, separation and map of what raters and people wrote."""

from __future__ import annotations

from pathlib import Path

import click

from spa.commands.options import (
    Aliased,
    json_option,
    out_folder_option,
    print_result,
    rehearsal_option,
    seed_option,
    store_option,
    study_argument,
)


@click.command(epilog="Example: spa explanations my-study/study.toml --embedding models/my-encoder --out explained")
@study_argument
@store_option
@click.option(
    "--embedding",
    "model",
    cls=Aliased,
    aliases=("--model",),
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder with a local model that embeds the texts. [default: TF-IDF]",
)
@rehearsal_option
@seed_option(0)
@out_folder_option("Folder for explanations.json, .html, .md, the map and the tables. [default: STUDY's]")
@json_option
def explanations(
    study: Path, store: str | None, model: Path | None, rehearsal: bool, seed: int, out: Path | None, as_json: bool
) -> None:
    """Explore what raters and people of STUDY wrote about their answers and at the end.

    keywords.csv has keywords by group and criterion, separation.csv how well a classifier tells the criteria apart
    by what is written, beside shuffled criteria, and map.csv each text with its place on a map; explanations.html is
    a page of these. The dashboard shows the same; ``spa report`` takes up an explanations.json beside STUDY, and of a
    rehearsal explanations.rehearsal.json.
    --json prints texts and on_map (numbers), projection, embedding, separation (a row a group) and files.
    """
    from dataclasses import asdict

    import numpy as np

    from analysis.answers.input import prepare_input
    from analysis.answers.sidecars import explanations_name, record_text
    from analysis.answers.study_answers import answers_of
    from analysis.descriptives.explanations import explanations_of
    from analysis.explanations.exploration import explore
    from analysis.explanations.texts import explained_texts, names_of_criteria
    from analysis.report.csv_tables import render_csv
    from analysis.report.explanations_page import explanations_files
    from spa.commands.workspace import open_answers
    from spa.files import write_text

    with open_answers(study, store, rehearsal=rehearsal, quiet=as_json) as workspace:
        answers = answers_of(workspace)
    prepared, facts = prepare_input(answers.tables, answers.plan, answers.facts), answers.facts
    texts = explained_texts(explanations_of(prepared.kept, prepared.orders), facts.interview if facts else ())
    names = names_of_criteria(texts, facts)
    language = workspace.study.language
    found = explore(texts, names, rng=np.random.default_rng(seed), language=language, model=model)
    folder = out or study.parent
    tables = {"keywords": found.keywords, "separation": found.separations, "map": found.map_rows()}
    files = {explanations_name(workspace): record_text(found.results())}
    stem = explanations_name(workspace).removesuffix(".json")
    files |= explanations_files(found.results(), facts, workspace.study.title, stem)
    files |= {f"{name}.csv": render_csv(rows) for name, rows in tables.items()}
    for name, text in files.items():
        write_text(folder / name, text)
    told = {
        "texts": found.n_texts,
        "on_map": len(found.texts),
        "projection": found.projection,
        "embedding": found.embedding,
        "separation": [asdict(row) for row in found.separations],
        "files": [str(folder / name) for name in files],
    }
    lines = [f"{found.n_texts:,} texts, {len(found.texts):,} on the map ({found.projection} of {found.embedding})"]
    lines += [found.keyword_note(), *(f"{row.group}: {row.words()}" for row in found.separations)]
    print_result(told, [*lines, *(f"wrote {folder / name}" for name in files)], as_json=as_json)
