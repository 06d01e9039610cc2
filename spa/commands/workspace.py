"""A study with its outputs, its texts and its store, opened together and checked to belong together."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from spa.errors import ResponseError, StudyError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spa.forms.build import StudyForms
    from spa.records.assignment import Assignment, BlindingKey
    from spa.records.examples import ExampleSet
    from spa.records.form import Form
    from spa.records.outputs import Outputs
    from spa.records.raters import RaterExamples, RaterProtocol, RaterVariant
    from spa.records.study import Study
    from spa.records.texts import Texts
    from spa.responses.store import Store
    from spa.study.narrowing import Respondents

FORMS_KEPT = 1024  # people at work at once who find their form made; one takes some 50 kB
FORMS_KEPT_BYTES = 100_000_000  # where forms are larger, fewer are kept
FORM_PART = 500  # bytes of a block or an exhibit, beside its text


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """What commands work on. A context manager that closes the store."""

    study: Study
    outputs: Outputs
    texts: Texts
    store: Store
    chosen: ChosenStore
    _for_llms: dict[str, tuple[Assignment, BlindingKey]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _examples: dict[RaterExamples, ExampleSet] = field(init=False, repr=False, compare=False, default_factory=dict)
    _forms: StudyForms = field(init=False, repr=False, compare=False)
    _built: Callable[..., Form] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from spa.forms.build import StudyForms

        object.__setattr__(self, "_forms", StudyForms(self.study, self.outputs, self.texts))
        object.__setattr__(self, "_built", self._build_first)

    def form(
        self, assignment_id: str, protocol: RaterProtocol | None = None, *, respondents: Respondents | None = None
    ) -> Form:
        """Return the form of an assignment, with what the protocol of a rater adds; the latest are cached.

        It is that of people, unless a protocol or ``respondents`` says that an LLM gets it.
        """
        whose: Respondents = respondents or ("people" if protocol is None else "llm")
        adapts = whose == "people" and self.study.stopping.rule != "fixed"
        adaptation = self.store.assignments.adaptation(assignment_id) if adapts else None
        return self._built(assignment_id, protocol, whose, adaptation)

    def forms_in_turn(self) -> Callable[[str], Form]:
        """Return what builds forms of people for one who reads all visits in turn, and keeps the last one alone."""
        adapts = self.study.stopping.rule != "fixed"

        @lru_cache(maxsize=1)
        def form(assignment_id: str) -> Form:
            adaptation = self.store.assignments.adaptation(assignment_id) if adapts else None
            return self._build(assignment_id, None, "people", adaptation)

        return form

    def expect(self, assignment_ids: Sequence[str]) -> None:
        """Read at once what LLMs' forms of these assignments are built from, instead of those read before."""
        drawn = self.store.assignments.draws(assignment_ids, "llm")
        self._for_llms.clear()
        self._for_llms.update(drawn)

    def _build(
        self,
        assignment_id: str,
        protocol: RaterProtocol | None,
        respondents: Respondents,
        adaptation: object,  # names the form in the cache
    ) -> Form:
        known = self._for_llms.get(assignment_id) if respondents == "llm" else None
        assignment, key = known or self.store.assignments.draw(assignment_id, respondents)
        examples = None if protocol is None or protocol.examples is None else self.examples(protocol.examples)
        return self._forms.build(assignment, key, protocol, examples)

    def examples(self, wanted: RaterExamples, *, freeze: Callable[[str], object] | None = None) -> ExampleSet:
        """Return the answered examples of a rater, drawn once; ``freeze`` is told how they are kept in the store."""
        from spa.raters.examples import ExampleSource, example_set, freeze_examples

        source = ExampleSource(
            study=self.study, outputs=self.outputs, texts=self.texts, store=self.store, form_of=self.form
        )
        if freeze is not None:
            freeze(freeze_examples(source, wanted))
        if wanted not in self._examples:
            self._examples[wanted] = example_set(source, wanted)
        return self._examples[wanted]

    def asking(self, assignment_ids: Sequence[str], variants: Sequence[RaterVariant]) -> Sequence[str]:
        """Return those assignments that ask a rater anything: all, unless its examples take their items away.

        Where the study wants so many answers of each output, a rater is asked as many of them as its repeats need.
        """
        from spa.study.answers_wanted import enough_for

        repeats = min((one.protocol.repeats for one in variants), default=1)
        enough = set(enough_for(self.study, self.outputs, self.store.assignments.ids(), repeats))
        assignment_ids = [name for name in assignment_ids if name in enough]
        wanted = next((one.protocol.examples for one in variants if one.protocol.examples is not None), None)
        if wanted is None:
            return assignment_ids
        from spa.raters.examples import asks_anything

        apart = self.examples(wanted.model_copy(update={"number": 0})).apart
        draws = self.store.assignments.draws(assignment_ids, "llm")
        return [name for name in assignment_ids if asks_anything(draws[name][0], apart)]

    def _build_first(self, *asked: Any) -> Form:
        """Build a form and keep as many as fit from now on: all are about as large as the first."""
        fit = FORMS_KEPT_BYTES // size_of(self._build(*asked))
        kept: Callable[..., Form] = lru_cache(maxsize=min(max(fit, 1), FORMS_KEPT))(self._build)
        object.__setattr__(self, "_built", kept)
        return kept(*asked)

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def size_of(form: Form) -> int:
    """Return about how many bytes of memory a form takes."""
    from spa.forms.form_text import exhibits_of

    total = FORM_PART
    for page in form.pages:
        shown = [exhibit for block in page.exhibits for exhibit in exhibits_of(block)]
        total += FORM_PART * (len(page.blocks) + len(shown))
        total += sum(len(exhibit.text) for exhibit in shown) + sum(len(question.text) for question in page.questions)
    return total


def default_store(study_path: Path) -> Path:
    """Return where a study's store is unless another place is named: beside the study file."""
    return study_path.with_suffix(".sqlite")


def with_store(command: str, store: str | None) -> str:
    """Return the next command to run, on the store that this one used; a password is not shown.

    >>> with_store("spa serve study.toml", "new.sqlite"), with_store("spa serve study.toml", None)
    ('spa serve study.toml --store new.sqlite', 'spa serve study.toml')
    >>> with_store("spa serve study.toml", "postgresql://spa:secret@host/study")
    "spa serve study.toml --store 'postgresql://spa:***@host/study'"
    """
    if store is None:
        return command
    from spa.responses.database import without_passwords

    return f"{command} --store {shlex.quote(without_passwords(store) if '://' in store else store)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenStore:
    """The store that a command works on."""

    target: str | Path
    is_rehearsal: bool  # drawn beside that of the study
    notice: str | None = None  # what must be said first of what is in it


def choose_store(
    study_path: Path, store: str | None = None, *, rehearsal: bool | None = False, read_only: bool = False
) -> ChosenStore:
    """Return the store that a command works on: the study's own one, or that of its rehearsal.

    ``store`` is the study's own one; by default the study file's name with ``.sqlite``. ``rehearsal``: true for the
    rehearsal, which is drawn if there is none yet, unless ``read_only``; ``None`` for the rehearsal as long as nobody
    else has answered. A ``store`` that is itself a rehearsal's is always chosen. Raise ResponseError if the store
    cannot be used.
    """
    from spa.records.submission import SIMULATED_RATER
    from spa.responses.rehearsal import (
        COPY,
        check_rehearsal,
        contents,
        draw_rehearsal,
        is_rehearsal_of,
        rehearsal_target,
    )
    from spa.responses.store import Store

    own = store or default_store(study_path)
    with Store.open(own, read_only=read_only) as opened:
        held = contents(opened, [SIMULATED_RATER])
        if held.rehearsal is not None:
            if held.rehearsal == COPY:
                return ChosenStore(target=own, is_rehearsal=False)
            return ChosenStore(target=own, is_rehearsal=True, notice=f"Rehearsal: this is what {opened.name} holds.")
        notice = None
        if held.misplaced:
            notice = f"Simulated visits in the study's own store, {opened.name}: {held.misplaced}; "
            notice += (
                f"`{with_store(f'spa forget {study_path} --simulated', store)}` deletes them and frees their places."
            )
        chosen = ChosenStore(target=own, is_rehearsal=False, notice=notice)
        if rehearsal is False or (rehearsal is None and held.answered):
            return chosen
        beside = rehearsal_target(own)
        if rehearsal and not read_only:
            draw_rehearsal(opened, beside)
        if not Store.exists(beside):
            if rehearsal is None:
                return chosen
            simulate = with_store(f"spa simulate {study_path}", store)
            raise ResponseError(f"{study_path}: expected a rehearsal, got none yet; make one with `{simulate}`")
        with Store.open(beside, read_only=read_only) as drawn:
            if rehearsal is None and not is_rehearsal_of(drawn, opened):
                left_out = f"{drawn.name} is the rehearsal of another version of the study, and is left out."
                return chosen if notice else replace(chosen, notice=left_out)
            check_rehearsal(drawn, opened)
            if rehearsal is None and next(drawn.visits.leases(), None) is None:
                return chosen
            begun = f" ({held.begun} have begun)" if held.begun else ""
            why = f"{opened.name} is left out" if rehearsal else f"nobody has answered the study itself yet{begun}"
            notice = f"Rehearsal: this is what {drawn.name} holds; {why}."
    return ChosenStore(target=beside, is_rehearsal=True, notice=notice)


def open_workspace(
    study_path: Path, store: str | None = None, *, rehearsal: bool | None = False, read_only: bool = False
) -> Workspace:
    """Load a study and open the store that was built from it, as :func:`choose_store` chooses it.

    ``store`` is an SQLite file or an SQLAlchemy URL; by default the study file's name with ``.sqlite``. Raise
    StudyError if the study cannot be used, or has changed since it was built. Raise ResponseError if the store cannot
    be used.
    """
    from spa.forms.texts import load_texts
    from spa.responses.store import Store
    from spa.study.load import former_fingerprints, load_study, study_fingerprint
    from spa.study.outputs import load_outputs
    from spa.study.stopping import with_live_rules

    study = load_study(study_path)
    chosen = ChosenStore(target=store or default_store(study_path), is_rehearsal=False)
    if rehearsal is not False:
        chosen = choose_store(study_path, store, rehearsal=rehearsal, read_only=read_only)
    with ExitStack() as closing:
        opened = closing.enter_context(Store.open(chosen.target, read_only=read_only))
        built = opened.fingerprint
        if built != study_fingerprint(study) and built not in former_fingerprints(study_path, study):
            raise StudyError(
                f"{study_path}: expected the study as it was built into {opened.name}, got another "
                "study's store, or the study file, a text, an output or an image has changed since; name the right "
                "store, undo the change, or build into a new store with `spa build STUDY --store NEW`"
            )
        texts = load_texts(study.language, study.texts)
        try:
            study = with_live_rules(study, opened.live_rules)
        except StudyError as error:
            raise StudyError(*(f"{study_path}: {problem}" for problem in error.problems)) from None
        workspace = Workspace(study=study, outputs=load_outputs(study), texts=texts, store=opened, chosen=chosen)
        closing.pop_all()
    return workspace


def open_answers(
    study_path: Path, store: str | None = None, *, rehearsal: bool = False, read_only: bool = True, quiet: bool = False
) -> Workspace:
    """Open a study to show what was answered: the rehearsal if asked for, or as long as nobody else has answered.

    What must be said of it is printed first, to stderr if ``quiet``.
    """
    workspace = open_workspace(study_path, store, rehearsal=rehearsal or None, read_only=read_only)
    if workspace.chosen.notice is not None:
        click.echo(workspace.chosen.notice, err=quiet)
    return workspace
