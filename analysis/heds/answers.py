"""What a study says about itself, as answers to the form's questions."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.answers.preregistration import frozen_plan
from analysis.heds.form import option
from analysis.printing.words import rule_name
from analysis.records.results import Results
from spa.commands.workspace import Workspace
from spa.elicitation import by_answers
from spa.elicitation.choices import Choices
from spa.elicitation.likert import Likert
from spa.elicitation.ranking import Rankings
from spa.elicitation.spa import Spa
from spa.elicitation.spans import Spans
from spa.media import medium_of
from spa.records.form import TextBlock
from spa.records.platforms import find_platform
from spa.records.study import Criterion, Study
from spa.responses.decisions import read_decisions
from spa.responses.outcomes import COMPLETED
from spa.study.stopping import counts_as_begun

Answers = dict[tuple[str, int | None], str | bool]  # number of the question, and of a box to tick -> value
OVERALL = "overall"
SIMULATED = "simulated"  # source of visits


def about_study(workspace: Workspace, results: Results) -> Answers:
    """Answer the questions of parts 1, 2, 3 and 5, as far as the study says."""
    study = workspace.study
    visits = [visit for visit in workspace.store.visits.of_people() if visit.outcome == COMPLETED]
    sources = list(dict.fromkeys(visit.source for visit in visits))
    found: Answers = {
        ("1.1.2", None): f"{study.title} (study {study.id})",
        ("3.1.1", None): _outputs(workspace),
        ("3.2.1", None): str(len({visit.annotator_id for visit in visits})),
        ("3.2.4", None): "Written instructions before the questions; no practice and no training.",
        ("3.3.1", None): _preregistered(workspace),
        ("3.3.2", None): "A web form in the annotator's own browser, served by spa-eval.",
        ("3.3.4.2", None): _shown(workspace),
    }
    if (number := medium_of(study.outputs.kind).heds) is not None:
        found["2.2", number] = True
    if study.people.pay is not None and set(sources) - {SIMULATED}:
        found["3.2.2.2", None] = option("3.2.2.2", 1)
    if sources:
        found["3.2.3", None] = " ".join(map(how_recruited, sources))
        found["3.3.7", None] = option("3.3.7", 1)
        found["3.3.8", None] = "Annotators used devices, places and times of their own; none of it was recorded."
    if any(platform is not None and platform.knows_people for platform in map(find_platform, sources)):
        found["5.2", None] = option("5.2", 2)  # the platform's ids of people
    if study.people.minutes_allowed is not None or counts_as_begun(study):
        found["3.3.5", 3] = True
    found |= _quality(workspace, results)
    return found


def how_recruited(source: str) -> str:
    """Say how the people of a source were recruited."""
    if source == SIMULATED:
        return "Not at all: these annotators are simulated."
    platform = find_platform(source)
    return f"Through {source}." if platform is None or platform.recruited is None else platform.recruited


def _preregistered(workspace: Workspace) -> str:
    frozen = frozen_plan(workspace.store)
    return option("3.3.1", 1 if frozen is not None and frozen.submissions == 0 else 2)


def _outputs(workspace: Workspace) -> str:
    """Count the different outputs of each system that the drawn forms show."""
    shown: dict[str, set[tuple[str, int]]] = {}
    keys = {key.assignment_id: key for key in workspace.store.assignments.keys()}
    for assignment in workspace.store.assignments:
        for block in assignment.blocks:
            for output in block.shown:
                system = keys[assignment.assignment_id].systems[output.label]
                shown.setdefault(system, set()).add((output.item_id, output.sample))
    counts = {system: len(outputs) for system, outputs in shown.items()}
    if len(set(counts.values())) == 1:
        return f"{next(iter(counts.values()))} (the same number of each system)"
    return ", ".join(f"{system}: {count}" for system, count in counts.items())


def _shown(workspace: Workspace) -> str:
    """Quote what a form of the study says and asks, without the outputs."""
    first = next(iter(workspace.store.assignments), None)
    if first is None:
        return ""
    form = workspace.form(first.assignment_id)
    words = [block.markdown for page in form.pages for block in page.blocks if isinstance(block, TextBlock)]
    asked = list(dict.fromkeys(question.text for question in form.questions("people")))
    return "\n\n".join(["Instructions and texts:", *words, "Questions of one form:", *asked])


def _quality(workspace: Workspace, results: Results) -> Answers:
    study, tau = workspace.study, results.settings.consistency_tau
    lines = []
    if study.screening:
        lines.append("Screening questions; who gives no eligible answer is left out.")
    likert, preferences = study.section(Likert), study.section(Spa)
    if study.attention_checks or (likert is not None and likert.identical_pairs):
        allowed = results.settings.max_failed_checks
        lines.append(f"Attention checks; who fails more than {allowed} is left out.")
    if preferences is not None and preferences.directions == "both" and tau is not None:
        lines.append(f"Self-consistency: whose two chances of one pair add up to more than {tau:g} is left out.")
    if results.careless:
        rules = dict.fromkeys(rule_name(row.rule) for row in results.careless)
        lines.append(f"Rules of careless answering, declared beforehand: {', '.join(rules)}.")
    with workspace.store.reading() as connection:
        reviewed = bool(read_decisions(connection))
    if reviewed:
        lines.append("Submissions were reviewed by hand; each decision is kept with its reason.")
    if not lines:
        return {("3.3.3.1", 7): True}
    excluded = len({row.annotator_id for row in results.exclusions if row.assignment_id is None})
    lines.append(f"{excluded} annotators were left out of the analysis.")
    found: Answers = {("3.3.3.2", None): " ".join(lines), ("3.3.3.1", 4): True}
    if len(lines) > 1 + reviewed:
        found["3.3.3.1", 2] = True
    if reviewed:
        found["3.3.3.1", 3] = True
    return found


def about_criteria(workspace: Workspace, results: Results) -> dict[str, Answers]:
    """Answer the questions of part 4 for every criterion and way of asking, as far as the study says."""
    study = workspace.study
    named = {criterion.id: criterion for criterion in study.criteria}
    questions = results.study.questions if results.study else ()
    asked = sorted(questions, key=lambda row: row.criterion != OVERALL)
    found: dict[str, Answers] = {}
    for row in asked:
        way, criterion = row.elicitation, named.get(row.criterion)
        asked_so = by_answers()[way]
        size, values = _scale(study, way, criterion)
        found[f"{row.criterion} ({way})"] = {
            ("4.2.1", None): option("4.2.1", 2),
            ("4.2.2", None): option("4.2.2", 2 if asked_so.settings.compares else 1),
            ("4.2.3", None): option("4.2.3", 1),
            ("4.3.1.1", None): OVERALL if criterion is None else criterion.name,
            ("4.3.3", None): str(size),
            ("4.3.4", None): values,
            ("4.3.7", None): row.text,
            ("4.3.9", None): _aggregated(way, results),
            ("4.3.10", None): _effect(way),
            **_agreement(row.criterion, results),
        }
        own = found[f"{row.criterion} ({way})"]
        if asked_so.heds_seen_as is not None:
            own["4.3.5", None] = option("4.3.5", asked_so.heds_seen_as)
        if asked_so.heds_form is not None:
            own["4.3.8", None] = option("4.3.8", asked_so.heds_form)
        if criterion is not None and criterion.question:
            own["4.3.2", None] = criterion.question
        if criterion is not None and criterion.against_source:
            own["4.1.3", None] = option("4.1.3", 2)
    return found


def _scale(study: Study, way: str, criterion: Criterion | None) -> tuple[int, str]:
    asked = by_answers()[way]
    values: Sequence[str] = asked.values(study, study.sections.get(asked.key))
    if values:
        return len(values), ", ".join(values)
    if way == "ranking":
        ranking = study.section(Rankings)
        size = len(study.compared) if ranking is None else ranking.ranked(study)
        return size, f"ranks 1 to {size}, tie"
    if way == "likert" and study.scale_points is not None:
        values = [str(point) for point in range(1, study.scale_points + 1)]
    elif way == "choice":
        values = [
            "first",
            "second",
            *(["tie"] if (choices := study.section(Choices)) is not None and choices.ties else []),
        ]
    elif way == "category" and criterion is not None:
        values = [each.text for each in criterion.options]
    elif way == "spans" and (spans := study.section(Spans)) is not None:
        values = list(spans.severities)
    else:
        return 101, "0 to 100 in whole numbers" + (" (per cent)" if way == "spa" else "")
    return len(values), ", ".join(values)


SOURCES = {
    "preferences": "preferences",
    "choices": "choices",
    "orders": "choices",
    "gambles": "choices",
}  # of other tables: ratings


def _aggregated(way: str, results: Results) -> str:
    settings = results.settings
    false_discoveries = settings.correction == "bh"
    corrected = "the correction of Benjamini and Hochberg" if false_discoveries else "Holm's correction"
    descriptions = {
        "spans": ("Errors counted, also weighted by severity; differences averaged within the unit", "paired t-test"),
        "spa": (
            "Both directions of a pair averaged within an annotator; mean over annotators",
            "t-test against 50%",
        ),
        "choice": ("Wins, a tie half, averaged within the unit; mean over units", "t-test against 50%"),
        "ranking": (
            "Plackett-Luce strengths; each pair of an ordering as a choice, averaged within the unit",
            "t-test",
        ),
        "gamble": (
            "Utilities averaged within annotators; the share of annotators beyond a stated difference; the higher of "
            "two utilities as a choice, averaged within the unit",
            "t-test against 50%",
        ),
    }
    means = ("Differences of two systems averaged within the unit; mean over units", "paired t-test")
    source = SOURCES.get(by_answers()[way].judgements[0].table, "ratings")
    averaged, test = descriptions.get(way, descriptions["choice"] if source == "choices" else means)
    found = f"{test}, {corrected} at {settings.fwer:g}"
    if (live := results.live) is not None:
        decides = live.answers == source
        found = f"anytime-valid decisions at {live.error_rate:g} over all looks" if decides else "no test"
    return f"{averaged}, {found}; Bradley-Terry strengths beside them."


def _effect(way: str) -> str:
    if by_answers()[way].settings.compares:
        return "The mean preference or win rate itself, with its interval; Cohen's d_z beside it."
    return "Mean difference in points with its interval; Hedges' g and the chance of a higher rating beside it."


def _agreement(criterion: str, results: Results) -> Answers:
    """Take alpha of people's ratings at the level that fits the scale."""
    people = {row.group for row in results.groups if row.annotator_kind != "llm"}
    for row in results.agreement:
        if row.criterion == criterion and row.group in people and row.fits_scale and row.value is not None:
            ends = f" (interval {row.ci_low:.3f} to {row.ci_high:.3f})" if row.ci_low is not None else ""
            return {
                ("4.3.11.1", None): row.measure.replace("_", " "),
                ("4.3.11.2", None): f"{row.value:.3f}{ends}",
            }
    return {}
