"""What labels count that are no numbers: the option ``--score`` of formats whose answers are words."""

from __future__ import annotations

from collections.abc import Mapping

import click

from spa.errors import ResponseError, shortened
from spa.importers.foreign_files import number_of

SHOWN = 5  # labels that a message names


class LabelScores:
    """What labels count: what was given, else the number that a label is; gathers those that have no score."""

    def __init__(self, given: Mapping[str, float]) -> None:
        self.given = given
        self.absent: dict[str, None] = {}

    def of(self, label: str) -> float | None:
        """Return the score of a label."""
        if label in self.given:
            return self.given[label]
        score = number_of(label)
        if score is None:
            self.absent[label] = None
        return score

    def check(self, place: object) -> None:
        """Raise ResponseError where labels have no score."""
        if not self.absent:
            return
        absent = [shortened(repr(label), 40) for label in self.absent]
        more = f" and {len(absent) - SHOWN} more" if len(absent) > SHOWN else ""
        raise ResponseError(
            f"{place}: expected labels that are finite numbers, got {', '.join(absent[:SHOWN])}{more}; "
            f"say what each counts, such as --score {shortened(repr(f'{next(iter(self.absent))}=NUMBER'), 40)}"
        )


def _scores(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for text in given:
        label, _, number = text.rpartition("=")
        score = number_of(number.strip())
        if not label or score is None:
            raise click.BadParameter(f"expected LABEL=NUMBER, got {shortened(repr(text))}", context, option)
        if scores.setdefault(label, score) != score:
            raise click.BadParameter(f"{shortened(repr(label))} has two scores", context, option)
    return scores


def score_option(
    flag: str = "--score",
    name: str = "scores",
    metavar: str = "LABEL=NUMBER",
    help: str = "Score of a label that is not a number; repeatable.",
) -> click.Option:
    """Return the option; its value is a number by each label."""
    return click.Option([flag, name], multiple=True, metavar=metavar, callback=_scores, help=help)
