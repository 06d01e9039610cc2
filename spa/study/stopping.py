"""What decides when a live study ends: kind of answers, criteria, pairs, and the most annotators."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, get_args

from spa.elicitation import ways
from spa.errors import StudyError
from spa.records.problems import StudyProblem, mistake
from spa.records.study import OVERALL, Deciding, Section, Study

KINDS: tuple[Deciding, ...] = get_args(Deciding)


def kinds_asked(study: Study) -> tuple[Deciding, ...]:
    """Return the kinds of answers that a study asks for and that can decide."""
    asked = {section.decides() for section in study.sections.values() if section.asks(study)}
    return tuple(kind for kind in KINDS if kind in asked)


def deciding_sections() -> str:
    """Return the sections whose answers can decide, in words."""
    named = [
        f"[{way.key}] {way.decides_with}".strip()
        for kind in KINDS
        for way in sorted(ways().values(), key=lambda each: bool(each.decides_with))
        if way.settings().decides() == kind
    ]
    return f"{', '.join(named[:-1])}, or {named[-1]}"


def deciding_answers(study: Study) -> Deciding:
    """Return the kind of answers that decides: the one that [stopping] names, or the first that is asked."""
    return study.stopping.answers or kinds_asked(study)[0]


def deciding_section(study: Study) -> Section:
    """Return the section whose answers decide; of ratings in two ways, the first."""
    answers = deciding_answers(study)
    return next(one for one in study.sections.values() if one.decides() == answers and one.asks(study))


def deciding_criteria(study: Study) -> tuple[str, ...]:
    """Return the criteria that decide: those that [stopping] names, "overall" where it is asked, else all."""
    asked = deciding_section(study).asks(study)
    return study.stopping.criteria or ((OVERALL,) if OVERALL in asked else asked)


def criteria_apart(study: Study, live_rules: int) -> bool:
    """Return whether each of several criteria has the error rate for itself.

    By the first rules, which their stores keep so that no decision is undone; since then all that decides shares it.
    """
    return live_rules == 1 and study.analysis.family == "criterion" and len(deciding_criteria(study)) > 1


def deciding_pairs(study: Study) -> tuple[tuple[str, str], ...]:
    """Return the pairs of systems to be decided, in the direction first listed."""
    return deciding_section(study).pairs(study) or tuple(combinations([one.id for one in study.compared], 2))


def ranks_systems(study: Study) -> bool:
    """Return whether a live study looks for the best few of many systems or for their order, instead of pairs."""
    return study.stopping.top is not None or study.stopping.order


def stopping_facts(study: Study) -> dict[str, Any]:
    """Return [stopping] with what it leaves to other tables of the study filled in; nothing in one of fixed size."""
    if study.stopping.rule == "fixed":
        return {}
    error_rate = study.analysis.fwer if study.stopping.error_rate is None else study.stopping.error_rate
    filled: dict[str, Any] = {"answers": deciding_answers(study), "criteria": list(deciding_criteria(study))}
    filled["counted"] = "begun" if counts_as_begun(study) else "completed"
    return (
        study.stopping.model_dump(by_alias=True)
        | filled
        | {"error_rate": error_rate, "most": planned_annotators(study)}
    )


def counts_as_begun(study: Study) -> bool:
    """Return whether a live study counts people in the order in which they began, and nobody who is late."""
    return study.stopping.rule == "when_decided" and study.stopping.counted != "completed"


def with_live_rules(study: Study, live_rules: int) -> Study:
    """Return a study as its store decides it: ``live_rules`` of ``Store`` fill in what the file leaves open.

    Raise StudyError where the file asks for what the store cannot do.
    """
    if study.stopping.rule != "when_decided":
        return study
    if live_rules < 2 and study.stopping.counted == "begun":
        raise StudyError(
            '[stopping] counted: expected "completed", as the store was built by a release that knew no other order, '
            'got "begun"; remove the key, or build into a new store with `spa build STUDY --store NEW`'
        )
    counted = study.stopping.counted or ("begun" if live_rules >= 2 else "completed")
    found = study.model_copy(update={"stopping": study.stopping.model_copy(update={"counted": counted})})
    if problems := [each.message for each in late_answers_kept(found)]:
        raise StudyError(*problems)
    return found


def late_answers_kept(study: Study) -> Iterator[StudyProblem]:
    """Yield the mistake of keeping late answers where people are counted as they began."""
    if counts_as_begun(study) and study.analysis.extra_answers == "keep":
        do = 'remove the key, or set [stopping] counted = "completed" before the first answer'
        expected = '"exclude", since [stopping] counted = "begun" never counts late answers'
        yield mistake("[analysis] extra_answers", expected, '"keep"', do, "analysis")


def rating_scale_width(study: Study) -> float:
    """Return the highest less the lowest rating of the section that decides, in points."""
    return deciding_section(study).scale_width()


def planned_annotators(study: Study) -> int:
    """Return how many annotators are planned: of a live study, after how many that count it ends undecided."""
    return study.people.annotators if study.stopping.most is None else study.stopping.most


def planned_places(study: Study) -> int:
    """Return how many people may take part and be paid: in a live study those in excess replace the excluded."""
    return max(study.people.annotators, planned_annotators(study))
