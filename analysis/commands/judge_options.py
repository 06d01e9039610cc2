"""Options that say who LLM judges are: juries of them, who made them, and what both orders of outputs mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spa.commands.options import two_sides

if TYPE_CHECKING:
    from analysis.answers.plan import Plan

Command = TypeVar("Command", bound=Callable[..., Any])
WILLIAMS = {
    "williams_alternative": ("two-sided", "greater"),
    "williams_correction": ("bh", "holm", "by"),
    "williams_criteria": ("apart", "together"),
}
OPTIONS = (
    click.option(
        "--jury",
        "juries",
        multiple=True,
        metavar="NAME[:BY]=A,B,...",
        help="LLMs that answer as one too, by mean, median or majority; repeatable.",
    ),
    click.option(
        "--maker",
        "makers",
        multiple=True,
        metavar="NAME=MAKER",
        help="Who made a system or an LLM, to see whether it favours its own; repeatable.",
    ),
    click.option(
        "--examples",
        multiple=True,
        metavar="WITH=WITHOUT",
        help="An LLM that read answered examples, and the same without them; repeatable.",
    ),
    click.option(
        "--flips",
        type=click.Choice(["tie", "missing"]),
        help="What a choice is that changes with the order of outputs.",
    ),
    click.option(
        "--williams",
        multiple=True,
        type=click.Choice([one for values in WILLIAMS.values() for one in values]),
        help="Tests of which measure is closer to people: 'greater' asks of the first alone whether it is, 'together' "
        "corrects all criteria at once; repeatable.  [two-sided, bh, as --family]",
    ),
)


def judge_options(command: Command) -> Command:
    """Add the options."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def judges_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a plan that the options set."""
    from analysis.answers.juries import parse_juries

    return {
        "juries": tuple(parse_juries(options.get("juries", ()))),
        "makers": tuple(two_sides(text, "--maker", "NAME=MAKER") for text in options.get("makers", ())),
        "examples": tuple(two_sides(text, "--examples", "WITH=WITHOUT") for text in options.get("examples", ())),
        "flips": options.get("flips"),
        **_williams(options.get("williams", ())),
    }


def _williams(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for field, values in WILLIAMS.items():
        chosen = list(dict.fromkeys(one for one in given if one in values))
        if len(chosen) > 1:
            raise click.UsageError(f"--williams {chosen[0]} or --williams {chosen[1]}, not both")
        if chosen:
            found[field] = chosen[0]
    return found


def single_answers_only(plan: Plan) -> Iterator[str]:
    """Yield the options that a table in parts cannot be analysed by."""
    given: tuple[tuple[str, object], ...] = (
        ("--jury", plan.juries),
        ("--maker", plan.makers),
        ("--examples", plan.examples),
        ("--flips", plan.flips),
        ("--compare-people-by", plan.compare_people_by),
        ("--camps", plan.camps),
    )
    for option, chosen in given:
        if chosen:
            yield option
