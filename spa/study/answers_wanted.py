"""How many assignments give each output so many answers: ``[design] answers_per_output``, where outputs are dealt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from spa.records.outputs import Outputs
from spa.records.problems import StudyProblem, mistake
from spa.records.study import Study

KEY = "[design] answers_per_output"


def answers_wanted_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield what keeps the number of answers from deciding how many assignments there are."""
    wanted, people = study.design.answers_per_output, study.people
    if wanted is None:
        return
    if not study.single_outputs:
        expected = 'pages = "output" in every section that rates, and none that compares'
        yield mistake(KEY, expected, "another design", "correct these, or remove the key", "sections")
    if study.stopping.rule != "fixed":
        yield mistake(KEY, "no [stopping], which decides how many people answer", "one", "remove one", "stopping")
    if people.sessions > 1:
        yield mistake(KEY, "sessions = 1 in [people]", str(people.sessions), "remove one of them", "people")
    if wanted % people.per_assignment:
        got = f"{wanted}, and per_assignment = {people.per_assignment}"
        yield mistake(KEY, "a multiple of [people] per_assignment", got, "change one of them", "people")


def dealt_by_assignment(study: Study, outputs: Outputs) -> tuple[int, ...]:
    """Return how many outputs each assignment holds, so that each output has the answers wanted and no more.

    There are as few assignments as that takes, as alike as can be; () where no number of answers is wanted. Where it
    takes no more of them, each run over all outputs ends with an assignment.
    """
    wanted, most = study.design.answers_per_output, study.design.outputs
    if wanted is None:
        return ()
    number, runs = sum(1 for _ in outputs.of_compared(study)), wanted // study.people.per_assignment
    a_run, needed = -(-number // most), -(-number * runs // most)
    if a_run * runs == needed:
        return _split(number, a_run) * runs
    return _split(number * runs, needed)


def _split(total: int, parts: int) -> tuple[int, ...]:
    """Return a total in parts that differ by one at most.

    >>> _split(10, 4)
    (3, 3, 2, 2)
    """
    return tuple(total // parts + (part < total % parts) for part in range(parts))


def with_people_needed(study: Study, outputs: Outputs) -> Study:
    """Return a study with as many annotators as the answers wanted take; the same where no number is wanted."""
    needed = len(dealt_by_assignment(study, outputs)) * study.people.per_assignment
    people = study.people.model_copy(update={"annotators": needed})
    return study.model_copy(update={"people": people}) if needed else study


def enough_for(study: Study, outputs: Outputs, assignment_ids: Sequence[str], repeats: int) -> Sequence[str]:
    """Return those of all assignments that a rater is asked, which answers each ``repeats`` times.

    They are the first of them in which every output stands often enough; all, where no number of answers is wanted.
    """
    sizes = dealt_by_assignment(study, outputs)
    if not sizes:
        return assignment_ids
    often = -(-(study.design.answers_per_output or 1) // repeats)
    needed = often * sum(1 for _ in outputs.of_compared(study))
    return assignment_ids[: min(len(sizes), 1 + sum(dealt < needed for dealt in accumulate(sizes)))]
