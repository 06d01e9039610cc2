"""``spa plan``: how many annotators, at what cost, to find a difference of this size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.commands.options import (
    AMOUNT,
    DEFAULT_STUDY,
    Aliased,
    Finite,
    StudyPath,
    annotators_option,
    announce,
    json_option,
    out_folder_option,
    print_json,
)
from spa.commands.terminal import progress_bar

if TYPE_CHECKING:
    from decimal import Decimal

    from analysis.planning.assumptions import Assumptions, Kind
    from analysis.planning.plan import PowerPlan
    from analysis.planning.variance import Components
    from spa.study.answerable_questions import Conclusion

SHARES = (55.0, 60.0, 65.0)
USUAL = {"likert": (0.2, 0.3, 0.5), "spans": (1.0, 1.5, 2.0)}  # differences, as a reader says them; else SHARES
SHARE = Finite(0, 1, min_open=True, max_open=True)
SD = Finite(0, 1000)
MOST = 1_000_000  # annotators
LEAST_SD = 1e-9
DESIGN = ("tests", "directions", "exposure")  # options that describe a design which no study file does


@click.command(epilog="Example: spa plan my-study/study.toml --budget 500 --out plan")
@click.argument("study", required=False, type=StudyPath())
@click.option(
    "--elicitation",
    type=click.Choice(["spa", "likert", "spans", "ranking", "choices"]),
    help="Plan only this elicitation. [default without STUDY: spa]",
)
@click.option(
    "--tests",
    cls=Aliased,
    aliases=("--pairs",),
    type=click.IntRange(1, 10_000),
    help="Without STUDY: number of tests in the family.",
)
@click.option("--directions", type=click.Choice(["one", "both"]), help="Without STUDY: directions asked per SPA pair.")
@click.option("--exposure", type=click.IntRange(1, 10_000), help="Without STUDY: outputs of each system judged.")
@click.option(
    "--difference",
    multiple=True,
    type=float,
    help="Difference to detect: Likert in points (0.3), spans in weighted errors (1.5), others in percent (60)."
    " Repeatable.",
)
@click.option("--power", multiple=True, type=SHARE, help="Power; repeatable.  [default: 0.8, 0.9]")
@click.option("--sd", type=SD, help="SD between annotators; if given alone, their total SD.")
@click.option("--item-sd", type=SD, help="SD between items, shared by all annotators.")
@click.option("--residual-sd", type=SD, help="SD between items within an annotator.")
@click.option("--answer-sd", type=SD, help="SD between answers to one question; both directions halve its variance.")
@click.option("--ties", type=Finite(0, 1, max_open=True), help="Choices: expected share of ties.  [default: 0]")
@click.option(
    "--errors", type=Finite(0, 1000, min_open=True), help="Spans: expected weighted errors an output.  [default: 4]"
)
@click.option(
    "--exclusion-rate",
    type=Finite(0, 1, max_open=True),
    default=0.1,
    show_default=True,
    help="Expected share of excluded annotators.",
)
@click.option("--fwer", type=SHARE, help="Familywise error rate.  [default: the study's, else 0.05]")
@annotators_option("Find the difference that this many can detect.")
@click.option("--budget", type=AMOUNT, help="Find the difference that this budget can detect; needs the pay.")
@click.option("--pay", type=AMOUNT, help="Pay per submission.  [default: the study's]")
@click.option(
    "--with",
    "rater",
    metavar="NAME|FILE",
    help="Plan the cheaper of people alone and fewer people beside this LLM's answers.",
)
@click.option(
    "--correlation",
    type=Finite(-1, 1),
    help="With --with: of people's and the LLM's answers to the same. [default: measured in the study's answers]",
)
@click.option(
    "--rater-price",
    type=AMOUNT,
    help="With --with: price of the LLM's answers to one form. [default: from prompts and prices.toml]",
)
@click.option(
    "--simulations",
    type=click.IntRange(0, 100_000),
    default=2000,
    show_default=True,
    help="Simulated studies in the check; 0 skips it.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the check.  [default: the study's, else 0]")
@json_option
@out_folder_option("Folder for the power curves (SVG and CSV).")
def plan(study: Path | None, as_json: bool, out: Path | None, **options: Any) -> None:
    """Estimate how many annotators STUDY needs to detect a difference, and their cost.

    Without STUDY, and where this folder has no study.toml, the options describe the design; so they do with --tests,
    --directions or --exposure. Numbers hold for the whole Holm family in its worst
    case and are checked by simulation; the assumptions are listed below them.
    """
    from analysis.planning.plan_text import write_curves

    if study is None and not any(options[name] for name in DESIGN) and Path(DEFAULT_STUDY).is_file():
        study = Path(DEFAULT_STUDY)
        announce(f"planning {study}, the study of this folder")
    plans, seed, conclusions = estimate_plans(study, options)
    plans = _beside_rater(plans, study, options)
    written = write_curves(plans, out) if out else []
    if as_json:
        _print_json(plans, seed, conclusions, written)
        return
    from analysis.planning.plan_text import print_plan
    from spa.commands.check import print_conclusions
    from spa.commands.terminal import console as console_of_results

    console = console_of_results()
    for number, one in enumerate(plans):
        if number:
            console.print()
        print_plan(one, console)
    if (worth := None if study is None else _audit_worth(study)) is not None:
        console.print(worth, soft_wrap=True)
    if conclusions:
        console.print()
        print_conclusions(conclusions, console)
    for path in written:
        click.echo(f"wrote {path}")


def _audit_worth(path: Path) -> str | None:
    from spa.study.audit import audit_worth
    from spa.study.load import load_study

    return audit_worth(load_study(path))


def estimate_plans(
    path: Path | None, options: dict[str, Any]
) -> tuple[tuple[PowerPlan, ...], int, tuple[Conclusion, ...]]:
    """Turn a study and options into plans, the seed of their check and what the study can answer as it stands.

    Raises
    ------
    AnalysisError
        Where options contradict one another or the study.
    """
    from dataclasses import replace

    import numpy as np

    from analysis.planning.assumptions import assumed
    from analysis.planning.conclusions import reachable_conclusions
    from analysis.planning.plan import make_plan
    from analysis.planning.study_design import planned_live_costs, study_assumptions

    kind: Kind | None = options["elicitation"]
    seed, annotators = options["seed"], options["annotators"]
    conclusions: tuple[Conclusion, ...] = ()
    if path is None:
        designs: tuple[Assumptions, ...] = (assumed(kind or "spa", **_design(options)),)
    else:
        _refuse(options, DESIGN, f"{path}: the study file sets it; leave out the option")
        study, outputs, designs = study_assumptions(path, kind)
        conclusions = reachable_conclusions(study, outputs)
        seed = study.seed if seed is None else seed
        annotators = annotators or (None if options["budget"] else study.people.annotators)
    if len(designs) > 1:
        own = ("difference", "sd", "item_sd", "residual_sd", "answer_sd", "ties", "errors")
        named = " or ".join(f"--elicitation {design.kind}" for design in designs)
        _refuse(options, own, f"its unit depends on what is planned; add {named}")
    designs = tuple(_with_options(design, options) for design in designs)
    seed = seed or 0
    expected = [(_differences(one, options["difference"]), _powers(one, options["power"])) for one in designs]
    counts = [_annotators(one, annotators, options["budget"]) for one in designs]
    steps = sum(len(differences) * len(powers) for differences, powers in expected)
    plans = []
    with progress_bar(length=steps, label="Computing") as bar:
        for number, (design, (differences, powers), count) in enumerate(zip(designs, expected, counts, strict=True)):
            plans.append(
                make_plan(
                    design,
                    differences=differences,
                    powers=powers,
                    annotators=count,
                    replicates=options["simulations"],
                    rng=np.random.default_rng([seed, number]),
                    done=lambda: bar.update(1),
                )
            )
    if path is not None and options["simulations"]:
        rngs = np.random.default_rng([seed, len(plans)]).spawn(len(plans))
        costs = [planned_live_costs(study, outputs, one, rng=rng) for one, rng in zip(plans, rngs, strict=True)]
        plans = [replace(one, live=cost) for one, cost in zip(plans, costs, strict=True)]
    return tuple(plans), seed, conclusions


def _beside_rater(plans: tuple[PowerPlan, ...], path: Path | None, options: dict[str, Any]) -> tuple[PowerPlan, ...]:
    """Add the cheaper of people alone and people beside an LLM, where that was asked for."""
    from dataclasses import replace

    name = options["rater"]
    if name is None:
        _refuse(options, ("correlation", "rater_price"), "expected --with as well, which names the LLM")
        return plans
    from analysis.commands.plan_rater import StatedRater, rater_assumptions
    from analysis.planning.with_rater import beside_rater
    from spa.study.load import load_study

    kinds = tuple(one.assumptions.kind for one in plans)
    items = plans[0].assumptions.n_items if path is None else load_study(path).items_per_annotator
    stated = StatedRater(name=name, correlation=options["correlation"], price=options["rater_price"])
    known = rater_assumptions(path, kinds, stated, items_a_form=items)
    return tuple(replace(one, beside=beside_rater(one, known[one.assumptions.kind])) for one in plans)


def _design(options: dict[str, Any]) -> dict[str, Any]:
    given_values = {"n_tests": options["tests"], "n_items": options["exposure"]}
    if options["exposure"] and options["elicitation"] in ("ranking", "choices"):
        given_values["judged"] = ((options["exposure"], 1.0),)
    if options["directions"]:
        given_values["directions"] = 2 if options["directions"] == "both" else 1
    return {name: value for name, value in given_values.items() if value is not None}


def _refuse(options: dict[str, Any], names: tuple[str, ...], why: str) -> None:
    from spa.errors import AnalysisError

    given = [f"--{name.replace('_', '-')}" for name in names if options[name] not in (None, ())]
    if given:
        raise AnalysisError(f"{', '.join(given)}: {why}")


def _with_options(design: Assumptions, options: dict[str, Any]) -> Assumptions:
    from dataclasses import replace

    from analysis.planning.ranked import tied_components
    from analysis.planning.variance import Components
    from spa.errors import AnalysisError

    changes = {name: options[name] for name in ("exclusion_rate", "fwer", "pay", "errors") if options[name] is not None}
    shares = design.kind in ("ranking", "choices")
    ties = options["ties"] or 0.0
    if ties and design.kind != "choices":
        raise AnalysisError("--ties: expected choices, got another elicitation; add --elicitation choices")
    if options["errors"] and design.kind != "spans":
        raise AnalysisError("--errors: expected error spans, got another elicitation; add --elicitation spans")
    if ties:
        changes |= {"components": tied_components(design.components, ties), "ties": ties}
    names = ("sd", "item_sd", "residual_sd", "answer_sd")
    if any(options[name] is not None for name in names):
        sds = {name.replace("sd", "annotator_sd") if name == "sd" else name: options[name] or 0.0 for name in names}
        if not (shares or any(sds.values())):
            raise AnalysisError("--sd: expected a standard deviation above 0, got 0; nobody answers exactly alike")
        components = _share_components(design, options, ties) if shares else Components(**sds)
        changes |= {"components": components, "source": "given as option"}
    changed = replace(design, **changes)
    if not changed.components.contribution_sd(1) > LEAST_SD:
        raise AnalysisError(f"--sd: expected a standard deviation of at least {LEAST_SD:g}, got less")
    if changed.sd > changed.largest and changed.kind != "spans":
        unit = f"in {'points' if design.in_points else 'shares of 1, such as 0.3'}"
        raise AnalysisError(f"--sd: expected an SD of at most {changed.largest:g} ({unit}), got {changed.sd:g}")
    return changed


def _share_components(design: Assumptions, options: dict[str, Any], ties: float) -> Components:
    """Return why shares differ, from --sd and --item-sd: what these leave is chance."""
    from analysis.planning.ranked import share_components
    from spa.errors import AnalysisError

    judged = "rankings" if design.kind == "ranking" else "choices"
    for name in ("residual_sd", "answer_sd"):
        if options[name]:
            expected = f"of {judged}, --sd (between annotators) and --item-sd only, as the rest is chance"
            raise AnalysisError(f"--{name.replace('_', '-')}: expected, {expected}")
    sd = design.components.annotator_sd if options["sd"] is None else options["sd"]
    try:
        return share_components(sd, ties, options["item_sd"] or 0.0)
    except ValueError as error:
        raise AnalysisError(f"--sd: of {judged} {error}") from error


def _differences(design: Assumptions, given: tuple[float, ...]) -> list[float]:
    from spa.errors import AnalysisError

    found = []
    highest = 50 + 50 * (1 - design.ties)
    usual: tuple[float, ...] = USUAL.get(design.kind, SHARES)
    if not design.in_points and usual[-1] >= highest:  # shares of choices of which few are no ties
        usual = tuple(50 + (share - 50) * (1 - design.ties) for share in usual)
    for given_values in given or usual:
        difference = given_values if design.in_points else round(given_values / 100 - 0.5, 12)
        if not design.in_points and not 50 < given_values < highest:
            example = 60 if highest > 60 else 50 + (highest - 50) / 5
            expected = f"a preference in percent above 50 and below {highest:g}, such as {example:g}"
            raise AnalysisError(f"--difference: expected {expected}, got {given_values:g}")
        if not 0 < difference < design.largest:
            expected = f"a difference above 0 and below {design.largest:g} points"
            raise AnalysisError(f"--difference: expected {expected}, got {given_values:g}")
        found.append(difference)
    return list(dict.fromkeys(found))


def _powers(design: Assumptions, given: tuple[float, ...]) -> list[float]:
    from spa.errors import AnalysisError

    powers = list(dict.fromkeys(given or (0.8, 0.9)))
    if min(powers) <= design.fwer:
        raise AnalysisError(f"--power: expected more than the error rate of {design.fwer:g}, got {min(powers):g}")
    return powers


def _annotators(design: Assumptions, annotators: int | None, budget: Decimal | None) -> int | None:
    from analysis.planning.plan_text import affordable
    from spa.errors import AnalysisError

    if budget is None:
        return annotators
    if annotators is not None:
        raise AnalysisError("--budget: expected either --budget or --annotators, got both; leave one out")
    if not design.pay:
        raise AnalysisError("--budget: expected the pay of one submission, got none; add --pay or [people] pay")
    number = affordable(budget, design.pay * design.sessions)
    if number > MOST:
        raise AnalysisError(f"--budget: expected pay for at most {MOST:,} annotators, got for {number:,}; lower it")
    return number


def _print_json(
    plans: tuple[PowerPlan, ...], seed: int, conclusions: tuple[Conclusion, ...], written: list[Path]
) -> None:
    from dataclasses import asdict

    from analysis.planning.plan_text import plan_json

    print_json(
        {
            "seed": seed,
            "plans": [plan_json(one) for one in plans],
            "conclusions": [asdict(one) for one in conclusions],
            "written": written,
        }
    )
