"""The overview of ``spa check``: what a study asks of an annotator and costs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from spa.commands.workspace import default_store
from spa.elicitation import ways
from spa.errors import LONGEST_PROBLEM, SpaError, StudyError, shortened
from spa.live import in_waves
from spa.study.audit import wave_size
from spa.study.stopping import counts_as_begun, planned_annotators, planned_places, with_live_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from spa.forms.effort import Effort
    from spa.records.analysis import Audit
    from spa.records.outputs import Outputs
    from spa.records.study import Study
    from spa.study.answerable_questions import Conclusion
    from spa.study.assignment_balance import Balance

LISTED = 10  # warnings, or items skipped
DRAWN = 12  # forms to average over; annotators read different items


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """A valid study, and what it asks of one annotator on average."""

    study: Study
    outputs: Outputs
    warnings: tuple[str, ...]
    pages: int
    questions: int  # including screening and checks
    words: int
    minutes: float  # estimated from the words
    conclusions: tuple[Conclusion, ...]
    balance: Balance | None  # of assignments from a file

    @property
    def minutes_announced(self) -> float:
        """Minutes announced to annotators: the study's, or else the estimate."""
        return self.study.people.minutes or self.minutes

    @property
    def cost(self) -> Decimal | None:
        """Pay of all planned places, at most those of a live study, without platform fees."""
        return self._pay_of(planned_places(self.study))

    @property
    def first_wave(self) -> int | None:
        """Annotators of a live study's first wave; ``None`` in one of fixed size."""
        most, wave = planned_annotators(self.study), wave_size(self.study)
        return min(wave, most) if in_waves(self.study) else None

    @property
    def first_wave_cost(self) -> Decimal | None:
        """Pay of a live study's first wave, without platform fees."""
        return None if self.first_wave is None else self._pay_of(self.first_wave)

    def _pay_of(self, annotators: int) -> Decimal | None:
        people = self.study.people
        if people.pay is None:
            return None
        from spa.responses.status import CENT  # loads the store's library, which a plan does not need

        return (people.pay * annotators * people.sessions).quantize(CENT, ROUND_HALF_UP)

    @property
    def hourly_pay(self) -> Decimal | None:
        """Hourly pay at the announced duration."""
        from spa.responses.status import hourly_pay

        return hourly_pay(self.study.people.pay, self.minutes_announced)

    def as_json(self) -> dict[str, Any]:
        """Return the overview as JSON."""
        study = self.study
        return {
            "study": study.id,
            "title": study.title,
            "language": study.language,
            "problems": [],
            "warnings": list(self.warnings),
            "systems": [one.id for one in study.systems],
            "items": len(self.outputs.items),
            "dropped_items": [asdict(one) for one in self.outputs.dropped],
            "comparisons": [
                list(pair)
                for section in study.sections.values()
                if section.exposures()
                for pair in section.pairs(study)
            ],
            "exposures": list(study.exposures),
            "asked": {key: list(asked) for key, section in study.sections.items() if (asked := section.asks(study))},
            "pages": self.pages,
            "questions": self.questions,
            "words": self.words,
            "minutes": self.minutes,
            "minutes_told": self.minutes_announced,
            "annotators": planned_annotators(study),
            "pay": None if study.people.pay is None else str(study.people.pay),
            "currency": study.people.currency,
            "cost": None if self.cost is None else str(self.cost),
            "first_wave": self.first_wave,
            "first_wave_cost": None if self.first_wave_cost is None else str(self.first_wave_cost),
            "hourly_pay": None if self.hourly_pay is None else str(self.hourly_pay),
            "raters": [rater.id for rater in study.raters],
            "juries": {jury.id: list(jury.raters) for jury in study.juries},
            "conclusions": [asdict(one) for one in self.conclusions],
            "assignments": None if self.balance is None else self.balance.as_json(),
        }


def overview_of(path: Path) -> Overview:
    """Load a study with its files, draw a few forms and estimate their effort.

    Raise StudyError with every mistake in the study file, or else every mistake in outputs and texts.
    """
    from spa.forms.build import build_form
    from spa.forms.effort import estimate_effort
    from spa.forms.texts import load_texts
    from spa.study.answerable_questions import conclusions_of
    from spa.study.load import check_study, own_mistakes
    from spa.study.outputs import load_outputs
    from spa.study.sampling import sample_assignments, study_rng
    from spa.study.warnings import effort_warnings, study_warnings

    checked = check_study(path)
    study = checked.study
    problems = [*checked.problems, *own_mistakes(path, checked)]
    # Unreadable parts are not checked against their defaults.
    if not checked.unfit.intersection(("outputs", "systems")) and not checked.unread.intersection(("spa", "design")):
        try:
            outputs = load_outputs(study)
        except StudyError as error:
            problems += error.problems
    if not checked.unfit.intersection(("language", "texts")):
        try:
            texts = load_texts(study.language, study.texts)
        except StudyError as error:
            problems += [f"{path}: {problem}" for problem in error.problems]
    if not problems:
        try:
            study = with_live_rules(study, _live_rules(path))
        except StudyError as error:
            problems += [f"{path}: {problem}" for problem in error.problems]
    if problems:
        raise StudyError(*problems)
    assigned, balance = _assigned(study, outputs)
    count = min(DRAWN, study.people.annotators)
    drawn = sample_assignments(study, outputs, count=count, rng=study_rng(study.seed))
    efforts: list[Effort] = [
        estimate_effort(build_form(study, outputs, assignment, key, texts)) for assignment, key in drawn
    ]
    overview = Overview(
        study=study,
        outputs=outputs,
        warnings=(*assigned, *study_warnings(study, outputs), *_store_warnings(path, study), *_schema_warnings(path)),
        pages=round(fmean(one.pages for one in efforts)),
        questions=round(fmean(one.questions for one in efforts)),
        words=round(fmean(one.words for one in efforts)),
        minutes=round(fmean(one.minutes for one in efforts), 1),
        conclusions=conclusions_of(study, outputs),
        balance=balance,
    )
    more = effort_warnings(study.people, minutes=overview.minutes, hourly=overview.hourly_pay)
    return replace(overview, warnings=tuple(shortened(line, LONGEST_PROBLEM) for line in (*overview.warnings, *more)))


def _assigned(study: Study, outputs: Outputs) -> tuple[tuple[str, ...], Balance | None]:
    """Return what is to be said of assignments from a file, and how balanced those are that will be used."""
    if study.design.assignments is None:
        return (), None
    from spa.study.assignment_balance import balance_of_file
    from spa.study.sampling import sample_assignments, study_rng

    count = study.people.assignments_for(planned_places(study))
    draws = sample_assignments(study, outputs, count=count, rng=study_rng(study.seed))
    pages, balance = balance_of_file(study, outputs, draws)
    rest = len(pages.forms) - balance.forms
    unused = f"{pages.file}: {rest} of {len(pages.forms)} forms are not used, as [people] asks for {balance.forms}"
    uneven = [f"{pages.file}: {one.uneven}: {one.do}" for one in balance.caveats()]
    return (*pages.notes, *[unused] * (rest > 0), *uneven), balance


def _live_rules(path: Path) -> int:
    """Return the rules that decide in a live study: those of the store beside the study file, or of a new one."""
    from spa.responses.store import Store
    from spa.responses.stored_assignments import NEWEST_LIVE_RULES

    with suppress(SpaError):
        if Store.exists(default_store(path)):
            with Store.open(default_store(path), read_only=True) as store:
                return store.live_rules
    return NEWEST_LIVE_RULES


def _schema_warnings(path: Path) -> Iterator[str]:
    """Yield a warning if editors check the study file by the schema of another release."""
    from spa.study.file_schema import SCHEMA_NAME, is_outdated

    if is_outdated(path):
        yield f"{SCHEMA_NAME} is of another release; `spa init {path.parent} --schema` writes it anew, for editors"


def _store_warnings(path: Path, study: Study) -> Iterator[str]:
    """Yield warnings if the store beside the study file was built from another seed or version of it."""
    from spa.responses.store import Store
    from spa.study.load import study_fingerprint

    if not Store.exists(default_store(path)):
        return
    try:
        with Store.open(default_store(path), read_only=True) as store:
            name, seed, fingerprint = store.name, store.meta("seed"), store.fingerprint
    except SpaError as error:
        yield error.problems[0]
        return
    if other_seed := seed is not None and int(seed) != study.seed:
        yield f"seed = {study.seed}: {name} was built with seed {seed}; restore that seed, or build into a new store"
    as_built = study.model_copy(update={"seed": int(seed)}) if other_seed and seed else study
    if fingerprint not in (study_fingerprint(study), study_fingerprint(as_built)):
        yield (
            f"{name} was built from another study, or the study file, a text, an output or an image has changed since; "
            "undo the change, or build into a new store with `spa build STUDY --store NEW`"
        )


def print_overview(overview: Overview, path: Path) -> None:
    """Print an overview: what is compared and asked, effort, cost, warnings, dropped items."""
    from rich.markup import escape
    from rich.table import Table

    from spa.commands.terminal import console as console_of_results

    study, console = overview.study, console_of_results()
    console.print(f"[bold]{escape(study.title)}[/bold] ({escape(study.id)}, {study.language})")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, words in _facts(overview):
        table.add_row(name, escape(words))
    console.print(table)
    print_conclusions(overview.conclusions, console)
    _print_list(console, "Warnings", [escape(line) for line in overview.warnings], style="yellow")
    dropped = [escape(f"{one.item_id}: {one.rule}, {one.evidence}") for one in overview.outputs.dropped]
    _print_list(console, "Items skipped", dropped, style="yellow")
    console.print(f"[green]No errors.[/green] Next: spa build {escape(str(path))}", soft_wrap=True)


def print_conclusions(conclusions: Sequence[Conclusion], console: Console) -> None:
    """Print which questions the planned study can answer, each with its reason and what would change a no."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("can this study answer", "", "reason"):
        table.add_column(title, header_style="dim")
    for one in conclusions:
        change = f". {'For more' if one.answerable else 'Needs'}: {one.change}" if one.change else ""
        table.add_row(one.question, "yes" if one.answerable else "[yellow]no[/yellow]", escape(one.reason + change))
    console.print(table)


def _print_list(console: Console, title: str, lines: list[str], *, style: str) -> None:
    if not lines:
        return
    console.print(f"[{style}]{title}[/{style}]")
    for line in lines[:LISTED]:
        console.print(f"  - {line}", soft_wrap=True)
    if len(lines) > LISTED:
        console.print(f"  ... and {len(lines) - LISTED} more (--json lists all)")


def _facts(overview: Overview) -> list[tuple[str, str]]:
    study, people = overview.study, overview.study.people
    facts = [
        ("systems", ", ".join(one.id if one.role == "system" else f"{one.id} ({one.role})" for one in study.systems)),
        ("items", str(len(overview.outputs.items))),
    ]
    facts += [(name, asked) for name, asked in _asked(study) if asked]
    announced = f"; {people.minutes:g} announced to annotators" if people.minutes else ""
    facts += [
        ("per annotator", f"{overview.pages} pages, {overview.questions} questions, {overview.words:,} words"),
        ("duration", f"about {overview.minutes:g} minutes{announced}"),
        ("annotators", _annotators(overview)),
    ]
    if overview.balance is not None:
        facts.append(("assignments", overview.balance.facts()))
    if overview.cost is not None and overview.hourly_pay is not None:
        times = f" x {people.sessions} sessions" if people.sessions > 1 else ""
        product = f"{planned_places(study)}{times} x {people.pay}"
        cost = f"{overview.cost:,} {people.currency} = {product}"
        if overview.first_wave_cost is not None:
            cost = f"at most {cost}, first wave {overview.first_wave_cost:,}"
        cost += ", without platform fees"
        facts += [("cost", cost), ("hourly pay", f"{overview.hourly_pay:,} {people.currency}")]
    else:
        facts.append(("cost", "unknown: [people] pay is not set"))
    if people.seconds_per_100_words and study.consent.text is None:
        facts.append(("reading", "measured; without [consent], the first page tells people so"))
    if people.groups:
        facts.append(("groups", ", ".join(f"{group.name} ({group.places} places)" for group in people.groups)))
    if study.raters:
        facts.append(("raters", ", ".join(f"{rater.id} ({rater.model})" for rater in study.raters)))
    if study.juries:
        facts.append(("juries", ", ".join(f"{one.id} ({one.by} of {', '.join(one.raters)})" for one in study.juries)))
    return facts


def _annotators(overview: Overview) -> str:
    planned, audit = str(planned_annotators(overview.study)), overview.study.audit
    if audit is not None:
        return _audited(audit, planned)
    if overview.first_wave is None:
        return planned
    places = planned_places(overview.study)
    if places > planned_annotators(overview.study):
        planned += f" counted, {places} including replacements for excluded ones"
    order = ", counted as they began" if counts_as_begun(overview.study) else ""
    return f"at most {planned}, in waves of {overview.first_wave}, until every pair is decided{order}"


def _audited(audit: Audit, planned: str) -> str:
    """Return how many people answer which part of an audit's forms."""
    until = " until every pair is decided" if audit.rule == "when_decided" else ""
    how = ", more often where it is unsure" if audit.draw == "unsure" else ""
    waves = f", drawn in waves of {audit.wave}{how}" if audit.in_waves else ""
    most = "at most " if until else ""
    return f"{most}{planned} of the {audit.forms:,} forms that {audit.rater} answers{waves}{until}"


def _asked(study: Study) -> list[tuple[str, str]]:
    found = []
    for key, section in study.sections.items():
        if asked := ", ".join(section.asks(study)):
            words = ways()[key].overview(study, section)
            found.append((key, f"{words}; asked: {asked}" if words else f"asked: {asked}"))
    return found
