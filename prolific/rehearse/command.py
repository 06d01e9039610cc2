"""``spa rehearse``: the whole of a study on Prolific, on this machine, without money."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spa.errors import StudyError

if TYPE_CHECKING:
    from prolific.rehearse.cast import Fate, Person
    from prolific.rehearse.crowd import Casting
    from prolific.rehearse.visitor import Answering
    from spa.annotators.simulated import Temperament
    from spa.annotators.truth import Truth
    from spa.commands.workspace import Workspace
    from spa.forms.form import Form

STATE = "rehearsal.json"
FAULTS: tuple[
    tuple[str, str, dict[str, Any]], ...
] = (  # operation, what goes wrong, details: the faults that find most mistakes, at every call that makes or pays
    ("CreateStudy", "drop_after_effect", {}),
    ("CreateParticipantGroup", "drop_after_effect", {}),
    ("PublishStudy", "500_after_effect", {}),
    ("GetSubmission", "429", {"count": 3}),
    ("GetSubmission", "drop", {"count": 2, "skip": 9}),
    ("GetStudySubmissions", "429", {"count": 2, "retry_after": 1}),
    ("BulkApproveSubmissions", "drop_after_effect", {}),
    ("CreateBonusPayments", "500", {}),
    ("PayBonusPayments", "drop_after_effect", {}),
    ("webhooks", "duplicate", {"count": 20}),
    ("webhooks", "reorder", {"count": 20, "skip": 10}),
    ("webhooks", "lose", {"count": 20, "skip": 30}),
)


def parse_shares(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    """Read ``NAME=SHARE``, as often as it is given."""
    shares: dict[str, float] = {}
    for text in given:
        name, equals, number = text.partition("=")
        try:
            shares[name] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise click.BadParameter(f"wanted NAME=SHARE, such as drops-out=0.1, got {text!r}")
    return shares


@click.command(epilog="Example: spa rehearse my-study/study.toml --annotators 30 --out rehearsal")
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--annotators", type=click.IntRange(min=1), help="Places to fill. [default: as the study says]")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("rehearsal"),
    show_default=True,
    help="Where everything goes; what is there already is gone on with.",
)
@click.option(
    "--share",
    "given",
    multiple=True,
    metavar="NAME=SHARE",
    callback=parse_shares,
    help="How many of those who come do this: drops-out, returns, never-opens, late, no-code, wrong-code, no-answers, "
    "second-device, declines, screened-out, fails-checks.",
)
@click.option("--browsers", type=click.IntRange(min=0), default=0, help="So many people use a real browser (Chromium).")
@click.option("--faults", is_flag=True, help="Let requests and webhooks go wrong, as they do on bad days.")
@click.option("--bonus/--no-bonus", default=True, show_default=True, help="Pay bonuses as well.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Draws who comes.")
@click.option(
    "--openapi",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The platform's published OpenAPI document, which every request is then held to.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def rehearse(
    study: Path,
    annotators: int | None,
    out: Path,
    given: dict[str, float],
    browsers: int,
    faults: bool,
    bonus: bool,
    seed: int,
    openapi: Path | None,
    as_json: bool,
) -> None:
    """Play a whole study on Prolific through on this machine: no token, no internet, no money.

    An emulated platform, the real survey server and simulated people; plan, draft, publication, answers,
    review, bonuses, report and bill by the real commands. Of those who come some leave, come late, or claim
    what they have not done. The last page says what happened, what it would have cost, and what is left to do.
    Broken off, it goes on where it was when the command is run again.
    """
    from prolific.rehearse.bill import make_bill
    from prolific.rehearse.page import facts, write_page
    from prolific.rehearse.play import Rehearsal
    from prolific.rehearse.script import Script
    from prolific.rehearse.stage import TOKEN, emulating, staged
    from prolific.rehearse.study_copy import copy_of
    from spa.study.load import load_study

    copy = copy_of(study, annotators=annotators, seed=seed)
    options = {"seed": seed, "shares": given, "faults": faults, "bonus": bonus, "browsers": browsers}
    state = _settled(out, study, copy.text, {"study": copy.digest, **options})
    rehearsed = out / "study.toml"
    script = Script()
    if not rehearsed.with_suffix(".sqlite").exists():
        script.run("check", rehearsed)
        script.run("build", rehearsed)
    with ExitStack() as stack:
        contract = None if openapi is None else _contract(openapi)
        platform, itself = stack.enter_context(
            emulating(
                out / "platform.sqlite",
                state["platform_port"],
                project=copy.project,
                contract=contract,
                currency=copy.currency,
            )
        )
        stage = stack.enter_context(staged(rehearsed, platform, state["survey_port"], clock=itself.time))
        if faults and not stage.people.faults():
            for operation, kind, details in FAULTS:
                stage.people.plan_fault(operation, kind, **details)
        known = load_study(rehearsed)
        bar = stack.enter_context(
            click.progressbar(length=known.people.annotators * known.people.sessions, label="places", hidden=as_json)
        )
        rehearsal = Rehearsal(
            study=rehearsed,
            out=out,
            stage=stage,
            script=script,
            casting=_casting(stage.workspace, seed, given, browsers, platform),
            bonus=bonus,
            say=lambda text: _say(bar, text),
            progress=lambda taken, places: bar.update(taken - bar.pos),
        )
        rehearsal.play()
        estimate: dict[str, Any] = rehearsal.estimates[0]
        bill = make_bill(
            platform,
            TOKEN,
            [crowd.study_id for crowd in rehearsal.crowds],
            estimate=estimate["total"],
            currency=estimate["currency"],
            places=sum(int(stage.people.study(crowd.study_id)["places"]) for crowd in rehearsal.crowds),
        )
        content = facts(rehearsal, bill, title=known.title, original=study, filled_in=copy.filled_in)
        write_page(out / "rehearsal.html", content)
        bar.update(bar.length - bar.pos if bar.length else 0)
    if as_json:
        click.echo(json.dumps(_summary(content), indent=2, ensure_ascii=False, default=str))
        return
    click.echo(f"{content['came']} people came, {bill.paid} submissions were paid; {bill.explained}")
    click.echo(
        f"  estimate {_money(estimate['total'])}, bill {_money(bill.total)} {bill.currency}, bonuses "
        f"{_money(bill.bonuses)}"
    )
    click.echo(f"Look at {out / 'rehearsal.html'}: what happened, and what is left to do for the real run")


def _settled(out: Path, study: Path, text: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what a rehearsal keeps: its options and ports. A folder holds one rehearsal only."""
    from prolific.rehearse.stage import free_port
    from spa.files import written_whole

    path = out / STATE
    if path.is_file():
        state = json.loads(path.read_text("utf-8"))
        if state["options"] != options:
            raise StudyError(
                f"{out}: wanted the folder of this rehearsal, got one of another study or with other options; "
                "name another with --out, or remove it"
            )
        return dict(state)
    if out.exists() and any(out.iterdir()):
        raise StudyError(f"{out}: wanted an empty folder for the rehearsal, got one with other files; name another")
    out.mkdir(parents=True, exist_ok=True)
    (out / "study.toml").write_text(text, encoding="utf-8")
    state = {"options": options, "original": str(study), "platform_port": free_port(), "survey_port": free_port()}
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(state, indent=2), encoding="utf-8")
    return state


def _casting(workspace: Workspace, seed: int, given: Mapping[str, float], browsers: int, platform: str) -> Casting:
    from prolific.rehearse.cast import read_shares
    from prolific.rehearse.crowd import Casting
    from spa.annotators.simulated import CROWD
    from spa.annotators.truth import even_truth

    study = workspace.study
    shares = read_shares(
        given,
        consent=bool((study.consent.text or "").strip()),
        screening=bool(study.screening),
        checks=bool(study.attention_checks),
    )
    truth = even_truth([system.id for system in study.compared], seed=study.seed)
    worse_when_higher = {criterion.id for criterion in study.criteria if criterion.lower_is_better}
    truth = truth.model_copy(update={"lower_is_better": truth.lower_is_better | worse_when_higher})
    answering = _answering(workspace, truth, CROWD, seed)
    in_browser: Callable[[Person, str], None] | None = None
    if browsers:
        from prolific.rehearse.browser import visit_in_browser

        def in_browser(one: Person, submission_id: str) -> None:
            visit_in_browser(submission_id, answering(one), platform)

    return Casting(seed=seed, shares=shares, answering=answering, in_browser=in_browser, browsers=browsers)


def _answering(
    workspace: Workspace, truth: Truth, temperament: Temperament, seed: int
) -> Callable[[Person], Answering]:
    """Return how each person answers: who is to be screened out or to fail checks does, and nobody else."""
    from spa.annotators.simulated import SimulatedAnnotator

    def of(one: Person) -> Answering:
        fate: Fate = one.fate
        own = temperament.model_copy(
            update={
                "not_eligible": 1.0 if fate == "screened out" else 0.0,
                "failing_checks": 1.0 if fate == "fails checks" else 0.0,
            }
        )

        @cache
        def answer(assignment_id: str) -> tuple[Form, Mapping[str, str]]:
            form = workspace.form(assignment_id)
            annotator = SimulatedAnnotator(truth, own, rng=one.rng(seed))
            return form, annotator.answers(form, workspace.store.key(assignment_id))

        return answer

    return of


def _contract(path: Path) -> Any:
    from prolific.emulator.contract import Contract

    return Contract(path)


def _say(bar: Any, text: str) -> None:
    bar.label = text
    bar.render_progress()


def _summary(content: Mapping[str, Any]) -> dict[str, Any]:
    bill = content["bill"]
    return {
        "came": content["came"],
        "paid": bill.paid,
        "estimate": bill.estimate,
        "bill": bill.total,
        "bonuses": bill.bonuses,
        "explained": bill.explained,
        "fates": content["fates"],
        "differences": content["differences"],
        "faults": content["faults"],
        "left_to_do": [one.told for one in content["to_do"]],
    }


def _money(cents: Any) -> str:
    return "unknown" if cents is None else f"{float(cents) / 100:,.2f}"
