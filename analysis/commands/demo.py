"""``spa demo``: run all steps of a study on an example, offline."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from hashlib import sha256
from pathlib import Path

import click

from spa.commands.init import EXAMPLES
from spa.commands.options import json_option, out_folder_option, print_json, seed_option

# True utilities of the example's systems, in unequal steps; docs/study-file.md explains the unit.
UTILITIES = {"novelist": 1.2, "formula": 0.5, "parrot": -0.3, "salad": -1.0}

THREE = ("novelist", "formula", "parrot")  # of the shorter form


@click.command(epilog="Example: spa demo --example chiang-lee --out demo-out")
@click.option(
    "--example",
    type=click.Choice(EXAMPLES),
    default="demo",
    show_default=True,
    help="Example study, as written by `spa init`.",
)
@out_folder_option("New folder for the study, its store and the report.", default="demo-out")
@click.option("--annotators", type=click.IntRange(min=2), help="Number of annotators. [default: the study's]")
@seed_option(1)
@json_option
def demo(example: str, out: Path, annotators: int | None, seed: int, as_json: bool) -> None:
    """Run an example study on this machine, without keys or network, in about half a minute.

    Simulated annotators answer the study on the real survey server over HTTP; a simulated LLM answers the
    same forms through an OpenAI-compatible endpoint. Each step is a command that you would use for your own
    study, and is printed before it runs.

    --json prints study, report and commands, and what the steps print goes to stderr.
    """
    from spa.errors import StudyError

    if out.exists() and any(out.iterdir()):
        raise StudyError(f"{out}: expected a new or empty folder, got files in it; remove it or choose another --out")
    study = out / "study" / "study.toml"
    utilities = {"demo": UTILITIES, "stories": {key: UTILITIES[key] for key in THREE}}.get(example, {})
    truth = [word for system, utility in utilities.items() for word in ("--utility", f"{system}={utility}")]
    truth += ["--seed", str(seed)]
    people = [] if annotators is None else ["--annotators", str(annotators)]
    commands = (
        ["init", str(study.parent), "--example", example],
        ["check", str(study)],
        ["build", str(study), *people],
        ["simulate", str(study), *people, *truth],
        ["rate", str(study), "--simulate", *truth],
        ["report", str(study), "--out", str(out / "report")],
    )
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        for arguments in commands:
            run(arguments)
            if arguments[0] == "build":
                derive_names(study, seed)
    if as_json:
        typed = [["spa", *arguments] for arguments in commands]
        print_json({"study": str(study), "report": str(out / "report"), "commands": typed})


def derive_names(study: Path, seed: int) -> None:
    """Let the pseudonyms of a demo follow from its seed, so that the same demo gives the same report."""
    from spa.commands.workspace import open_workspace

    with open_workspace(study, rehearsal=True) as workspace:
        workspace.store.set_meta("secret", sha256(f"demo {seed}".encode()).hexdigest())


def run(arguments: list[str]) -> None:
    """Print and run a ``spa`` command; stop if it fails."""
    from spa.cli import main

    click.secho(f"\n$ spa {' '.join(arguments)}", bold=True)
    code = main.main(args=arguments, prog_name="spa", standalone_mode=False)
    if code:
        raise SystemExit(code)
