"""What ``spa simulate`` and ``spa rate --simulate`` share: who is simulated, and their true utilities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import INPUT, Command, seed_option
from spa.errors import StudyError

if TYPE_CHECKING:
    from spa.commands.workspace import Workspace
    from spa.simulation.simulated_annotators import Temperament
    from spa.simulation.true_utilities import TrueUtilities


def parse_utilities(context: click.Context, option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, float]:
    """Read ``SYSTEM=NUMBER``, as often as it is given; a mistake is wrong usage."""
    utilities: dict[str, float] = {}
    for text in pairs:
        system, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not equals or not system or not abs(value) < float("inf"):
            raise click.BadParameter(f"expected SYSTEM=NUMBER, such as davinci=0.9, got {text!r}")
        if system in utilities:
            raise click.BadParameter(f"expected one number for {system!r}, got two")
        utilities[system] = value
    return utilities


def simulation_options(command: Command) -> Command:
    """Add the options that say who is simulated."""
    for add in (
        seed_option(0),
        click.option(
            "--likert-reversal",
            nargs=2,
            metavar="BETTER WORSE",
            help="Simulate the case where averaged ratings reverse the preference.",
        ),
        click.option(
            "--utility",
            "utilities",
            multiple=True,
            metavar="SYSTEM=NUMBER",
            callback=parse_utilities,
            help="True utility of a system, from -2.5 to 2.5; repeat for each system.",
        ),
        click.option("--truth", type=INPUT, help="TOML file of true utilities."),
    ):
        command = add(command)
    return command


def choose_truth(
    workspace: Workspace,
    *,
    truth: Path | None,
    utilities: dict[str, float],
    likert_reversal: tuple[str, str] | None,
    otherwise: Temperament,
) -> tuple[TrueUtilities, Temperament, str]:
    """Return the true utilities, who answers, and both in words.

    Without any option, each system is a little better than the one listed before it. What is in
    an output comes from the study's seed, so that people and raters read the same outputs.
    """
    from spa.simulation.simulated_annotators import ATTENTIVE, load_truth
    from spa.simulation.true_utilities import TrueUtilities, likert_reversal_truth, truth_of

    if sum(map(bool, (truth, utilities, likert_reversal))) > 1:
        raise click.UsageError("expected only one of --truth, --utility and --likert-reversal")
    study = workspace.study
    systems = [system.id for system in study.compared]
    temperament = otherwise
    chosen: TrueUtilities
    if truth is not None:
        file = load_truth(truth)
        chosen, temperament, words = file, file.temperament or otherwise, str(truth)
    elif utilities:
        chosen, words = TrueUtilities(utilities=utilities, seed=study.seed), "--utility"
    elif likert_reversal:
        items = [item.item_id for item in workspace.outputs.items]
        samples = max(
            len(workspace.outputs.of(item, system))
            for item in items
            for system in likert_reversal_of(likert_reversal, systems)
        )
        points = study.scale_points or 5
        others = [system for system in systems if system not in likert_reversal]
        chosen = likert_reversal_truth(*likert_reversal, items, others=others, points=points, samples=samples)
        temperament, words = ATTENTIVE, "averaged ratings reverse the preference"
    else:
        chosen, words = truth_of(study), "each system a little better than the one before it"
    check_systems(chosen, systems, words)
    worse_when_higher = {criterion.id for criterion in study.criteria if criterion.lower_is_better}
    chosen = chosen.model_copy(update={"lower_is_better": chosen.lower_is_better | worse_when_higher})
    listed = ", ".join(f"{system} {chosen.utilities[system]:+.2g}" for system in systems if system in chosen.utilities)
    return chosen, temperament, f"{listed} ({words})"


def likert_reversal_of(pair: tuple[str, str], systems: list[str]) -> tuple[str, str]:
    """Return the two systems of ``--likert-reversal``, which must be two of the study's."""
    if pair[0] == pair[1] or not set(pair) <= set(systems):
        raise StudyError(f"--likert-reversal: expected two of the study's systems ({', '.join(systems)}), got {pair}")
    return pair


def check_systems(truth: TrueUtilities, systems: list[str], place: str) -> None:
    """Refuse a truth that leaves a system of the study out or names one that it does not have."""
    known = truth.utilities.keys() | truth.output_utilities.keys()
    absent = [system for system in systems if system not in known]
    strangers = sorted(known - set(systems))
    problems = [f"{place}: expected a utility for the system {system!r}, got none; add it" for system in absent]
    problems += [
        f"{place}: expected only systems that the study compares ({', '.join(systems)}), got {name!r}"
        for name in strangers
    ]
    if problems:
        raise StudyError(*problems)


def check_url(option: str, url: str) -> str:
    """Return an address without the slash at its end; anything else is wrong usage."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket that is not closed
        usable = False
    if not usable:
        raise click.UsageError(f"{option} expected an address such as http://127.0.0.1:8000, got {url!r}")
    return url.rstrip("/")
