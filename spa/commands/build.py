"""``spa build``: draw the assignments of a study into a store."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.commands.options import (
    annotators_option,
    draw_seed_option,
    json_option,
    out_file_option,
    print_json,
    store_option,
    study_argument,
)
from spa.commands.serve import LINKS_WRITTEN
from spa.commands.terminal import progress_bar
from spa.commands.workspace import default_store, with_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spa.records.assignment import Assignment, BlindingKey
    from spa.records.study import Study
    from spa.responses.store import Store

BAR_FROM = 2_000  # assignments; fewer are drawn before anybody would look at a bar


@click.command(epilog="Example: spa build my-study/study.toml --annotators 60 --links links.txt")
@study_argument
@annotators_option("Total assignments.")
@draw_seed_option
@store_option
@out_file_option("Write one line /a/TOKEN per person to this file.", "--links")
@out_file_option("Write who sees what to this table, as [design] assignments reads it.", "--pages")
@json_option
def build(
    study: Path,
    annotators: int | None,
    seed: int | None,
    store: str | None,
    links: Path | None,
    pages: Path | None,
    as_json: bool,
) -> None:
    """Draw the assignments of STUDY into a store.

    Building again changes nothing. A larger --annotators continues the same draw and keeps existing
    assignments and answers. A study that has changed needs a new store.
    """
    from spa.study.audit import forms_in_all
    from spa.study.load import load_study, study_fingerprint
    from spa.study.stopping import planned_places

    loaded = load_study(study)
    if loaded.audit is not None and annotators is not None:
        raise click.UsageError("--annotators: not in an audit, whose forms are all drawn beforehand ([audit] forms)")
    target, places = store or default_store(study), annotators or planned_places(loaded)
    facts = build_store(
        loaded,
        target,
        fingerprint=study_fingerprint(loaded),
        annotators=forms_in_all(loaded) if loaded.audit else loaded.people.assignments_for(places),
        seed=seed,
        progress=not as_json,
    )
    if links is not None:
        facts["links"] = str(links)
        _write_links(links, target)
    if pages is not None:
        facts["pages"] = str(pages)
        _write_pages(loaded, pages, target)
    if as_json:
        print_json(facts)
    else:
        _print_facts(facts, with_store(f"spa serve {study}", store))


def build_store(
    study: Study, target: str | Path, *, fingerprint: str, annotators: int, seed: int | None, progress: bool = False
) -> dict[str, Any]:
    """Draw assignments into the store at ``target``, made if there is none, and say what is there now.

    ``annotators`` counts assignments in all; ``seed`` defaults to that of the earlier build, or else the study's.
    """
    from spa.errors import ResponseError
    from spa.responses.rehearsal import APART, FACT
    from spa.responses.store import Store
    from spa.responses.stored_assignments import NEWEST_LIVE_RULES
    from spa.study.stopping import with_live_rules

    if not Store.exists(target):
        with_live_rules(study, NEWEST_LIVE_RULES)  # what a new store cannot do is refused before there is one
        with Store.being_created(target) as created:
            return _draw(created, study, fingerprint, annotators=annotators, seed=seed, progress=progress)
    with Store.open(target) as built:
        if built.meta(FACT) == APART:
            raise ResponseError(
                f"{built.name}: expected the store of the study, got its rehearsal, which grows with it; build into "
                "that, and `spa simulate` goes on with what is new"
            )
        return _draw(built, study, fingerprint, annotators=annotators, seed=seed, progress=progress)


def _draw(
    store: Store, study: Study, fingerprint: str, *, annotators: int, seed: int | None, progress: bool
) -> dict[str, Any]:
    from spa.errors import StudyError
    from spa.forms.build import build_form
    from spa.forms.texts import load_texts
    from spa.live import draw_due_wave
    from spa.study.anchors import anchor_losses
    from spa.study.assigned_pages import load_pages
    from spa.study.output_files import display_path
    from spa.study.outputs import load_outputs
    from spa.study.sampling import sample_assignments, study_rng

    outputs, texts = load_outputs(study), load_texts(study.language, study.texts)
    if study.design.assignments is not None and annotators > (forms := len(load_pages(study, outputs).forms)):
        place = display_path(study.design.assignments)
        raise StudyError(f"{place}: expected {annotators} forms to build, got {forms}; add forms or build fewer")
    if seed is None:
        seed = int(store.meta("seed") or study.seed)
    of_people = None if study.audit is None else study.people.assignments_for(study.people.annotators)
    balancing = store.assignments.balancing  # that of the earlier build
    for assignment, key in sample_assignments(study, outputs, count=1, rng=study_rng(seed), balancing=balancing):
        build_form(study, outputs, assignment, key, texts)  # a study without a form is refused before anything is saved
    draws = sample_assignments(study, outputs, count=annotators, rng=study_rng(seed), balancing=balancing)
    hidden = not progress or annotators < BAR_FROM
    with progress_bar(draws, length=annotators, label="Drawing", hidden=hidden) as drawn:
        in_waves = study.audit is not None and study.audit.in_waves
        new = store.assignments.save(
            fingerprint, drawn, seed=seed, balancing=balancing, for_people=of_people, in_waves=in_waves
        )
    if in_waves:
        draw_due_wave(study, store)
    return {
        "store": store.name,
        "study": study.id,
        "seed": seed,
        "assignments": len(store.assignments),
        "new": new,
        "tokens": len(store.tokens(personal=True)),
        "balance": summarise_balance(
            store.assignments, store.assignments.keys(), single=study.single_outputs or study.deals_pairs
        ),
        "needed": study.people.assignments_for(study.people.annotators),
        "wanted": study.design.answers_per_output,
        "links": None,
        "pages": None,
        **({"anchors": lost} if (lost := [asdict(one) for one in anchor_losses(study, outputs)]) else {}),
    }


def summarise_balance(
    assignments: Iterable[Assignment], keys: Iterable[BlindingKey], *, single: bool
) -> dict[str, Any]:
    """Count how evenly a draw uses what there is.

    ``items``: how many are used; ``item_uses``: fewest and most assignments that show one; ``label_uses``: fewest and
    most assignments in which a system has one label (0 where it never does), or, where ``single`` outputs are dealt,
    ``output_uses``: fewest and most that show one of those used.
    """
    items: Counter[str] = Counter()
    labelled: Counter[tuple[str, str]] = Counter()
    outputs: Counter[tuple[str, str, int]] = Counter()
    hidden = {key.assignment_id: key.systems for key in keys} if single else {}
    for assignment in assignments:
        if single:
            systems_of = hidden[assignment.assignment_id]
            shown = [output for block in assignment.blocks for output in block.shown]
            outputs.update((systems_of[one.label], one.item_id, one.sample) for one in shown)
        on_pages = {output.item_id for block in assignment.blocks for output in block.shown}
        rated = {each.output.item_id for each in assignment.rated}
        chosen = {group[0].item_id for groups in assignment.groups.values() for group in groups}
        items.update(on_pages | rated | chosen)
    used = {"items": len(items), "item_uses": [min(items.values(), default=0), max(items.values(), default=0)]}
    if single:
        return used | {"outputs": len(outputs), "output_uses": [min(outputs.values()), max(outputs.values())]}
    for key in keys:
        labelled.update(key.systems.items())
    labels, systems = {label for label, _ in labelled}, {system for _, system in labelled}
    uses = [labelled[label, system] for label in labels for system in systems]
    return used | {"label_uses": [min(uses, default=0), max(uses, default=0)]}


def _write_links(path: Path, target: str | Path) -> None:
    from spa.files import write_text
    from spa.responses.store import Store

    with Store.open(target) as store:
        write_text(path, "".join(f"/a/{token}\n" for token in store.tokens(personal=True)), private=True)
        store.set_meta(LINKS_WRITTEN, "yes")


def _write_pages(study: Study, path: Path, target: str | Path) -> None:
    from spa.files import write_text
    from spa.responses.store import Store
    from spa.study.page_rows import pages_csv

    with Store.open(target) as store:
        write_text(path, pages_csv(study, store.assignments.drawn()), private=True)


def _print_facts(facts: dict[str, Any], next_command: str) -> None:
    balance = facts["balance"]
    if facts["new"] == 0:
        click.echo(f"{facts['store']}: nothing to do, the {facts['assignments']} assignments already exist")
    else:
        added = "" if facts["new"] == facts["assignments"] else f" ({facts['new']} new, the others untouched)"
        click.echo(f"{facts['store']}: {facts['assignments']} assignments{added}, seed {facts['seed']}")
    if "output_uses" in balance:
        click.echo(f"  {balance['outputs']} outputs, each shown in {_span(balance['output_uses'])} assignments")
        if (wanted := facts["wanted"]) is not None:
            click.echo(
                f"  {wanted} answers about each ([design] answers_per_output) take {facts['needed']} assignments"
            )
    else:
        items = "1 item," if balance["items"] == 1 else f"{balance['items']} items, each"
        click.echo(f"  {items} shown in {_span(balance['item_uses'])} assignments")
        click.echo(f"  each system under each label in {_span(balance['label_uses'])} assignments")
    for line in _anchors(facts):
        click.echo(f"  {line}")
    if facts["links"] is not None:
        click.echo(f"  {facts['tokens']} personal links in {facts['links']}; prefix each with the server's address")
    else:
        click.echo(f"  {facts['tokens']} personal links; write them to a file with --links FILE")
    if facts["pages"] is not None:
        click.echo(f"  who sees what in {facts['pages']}, with the systems' names")
    click.echo(f"Next: {next_command}")


def _anchors(facts: dict[str, Any]) -> Iterator[str]:
    """Yield what was taken from the anchors of a listening test, where there are some."""
    if "anchors" in facts:
        from spa.study.anchors import AnchorLoss, loss_lines

        yield from loss_lines([AnchorLoss(**one) for one in facts["anchors"]])


def _span(fewest_and_most: list[int]) -> str:
    fewest, most = fewest_and_most
    return str(fewest) if fewest == most else f"{fewest} to {most}"
