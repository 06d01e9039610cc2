"""``spa review-explanations``: create a study in which people judge a rater's explanations."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from spa.commands.options import (
    draw_seed_option,
    json_option,
    out_folder_option,
    print_result,
    rehearsal_option,
    store_option,
    study_argument,
)
from spa.errors import StudyError

if TYPE_CHECKING:
    from spa.commands.workspace import Workspace
    from spa.records.form import Question
    from spa.records.raters import RaterVariant
    from spa.records.study import Study
    from spa.responses.rating_explanations import ExplainedRating, RatedTarget, SideBySide

ERRORS = ("poor_syntax", "incoherence", "wrong_guideline", "superfluous_text", "unsubstantiated_claims")
# questions to annotators who rated, from Chiang & Lee (2023, C.3.1), "calibration" in their words
FIRST = ("duration", "standard", "calibration", "change")
AGREEMENT = {"agree": 2, "partially": 1, "disagree": 0}
ITEMS = 5  # shown to one reader at most
REVIEWER = "reviewer"  # parameter of the link
Words = Mapping[str, str]


@click.command(
    "review-explanations",
    epilog="Example: spa review-explanations my-study/study.toml --rater my-llm --number 100 --out review-study",
)
@study_argument
@click.option(
    "--rater",
    "names",
    metavar="NAME|FILE",
    multiple=True,
    required=True,
    help="Rater whose explanations are reviewed, or its TOML file; repeatable.",
)
@click.option(
    "--variant", "variants", metavar="NAME", multiple=True, help="Only this variant of the rater; repeatable."
)
@click.option("--number", type=click.IntRange(min=1), help="Number of explanations to draw at random. [default: all]")
@click.option("--interview", is_flag=True, help="For readers who were annotators of STUDY: ask first how they rated.")
@click.option("--readers", type=click.IntRange(min=1), default=3, show_default=True, help="Readers per explanation.")
@click.option(
    "--reviewer",
    "reviewers",
    metavar="NAME",
    multiple=True,
    help="Instead of readers: one of two people who each judge all explanations; given twice.",
)
@draw_seed_option
@out_folder_option("New folder for the study.", required=True)
@store_option
@rehearsal_option
@json_option
def review_explanations(
    study: Path,
    names: tuple[str, ...],
    variants: tuple[str, ...],
    number: int | None,
    interview: bool,
    readers: int,
    reviewers: tuple[str, ...],
    seed: int | None,
    out: Path,
    store: str | None,
    rehearsal: bool,
    as_json: bool,
) -> None:
    """Create a study in which people judge the explanations that a rater of STUDY gave with its ratings.

    Each reader sees a text, the question, the rating and its explanation, answers five yes-or-no questions
    about errors, and says whether they agree and why. The rater is not disclosed. Several raters or variants
    are compared on the items that all of them explained. The new study is built, served and reported like
    any other. --json prints drawn, explained and skipped (numbers of ratings), variants, files and queries (what
    each reviewer adds to the study's link).
    """
    if reviewers and len(set(reviewers)) != 2:
        raise click.UsageError(f"--reviewer: expected two names, got {', '.join(reviewers)}")
    from spa.commands.rating import choose_rater, choose_variants
    from spa.commands.workspace import open_answers
    from spa.media import medium_of
    from spa.responses.rating_explanations import explained_ratings

    with open_answers(study, store, rehearsal=rehearsal, quiet=as_json) as workspace:
        kinds = workspace.study.outputs
        for what, kind in (("text outputs", kinds.kind), ("item texts", kinds.item_kind)):
            if not (medium := medium_of(kind)).has_words:
                raise StudyError(f"{study}: expected {what}, got {medium.many}, which a review cannot show")
        raters = [choose_rater(workspace.study, study, name, simulate=False) for name in names]
        variants_by_name = {variant.name: variant for rater in raters for variant in choose_variants(rater, variants)}
        found = explained_ratings(workspace.store, [rater.id for rater in raters], variants)
        drawn = draw(found, number, workspace.study.seed if seed is None else seed)
        words = words_of(workspace.study.language)
        rows = list(outputs_of(workspace, found, drawn, variants_by_name, words))
        asked_first = FIRST if interview else ()
        text = study_text(workspace, found.variants, len(drawn), readers, words, asked_first, reviewers)
    write_study(out, text, rows)
    made = ReviewStudy(
        drawn=len(drawn),
        explained=len(found.explained),
        skipped=found.left_out,
        variants=tuple(found.variants),
        files=(str(out / "study.toml"), str(out / "outputs.jsonl")),
        queries={name: f"?{REVIEWER}={quote(name)}" for name in reviewers},
    )
    print_result(made, made.lines(), as_json=as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewStudy:
    """A study of a rater's explanations, as it was written."""

    drawn: int  # explained ratings
    explained: int
    skipped: int  # because not all raters explained them
    variants: tuple[str, ...]
    files: tuple[str, ...]
    queries: dict[str, str]  # reviewer -> what stands behind the study's link

    def lines(self) -> Iterator[str]:
        """Yield it as text, with the next command."""
        yield f"{self.drawn} of {self.explained} explained ratings, by {', '.join(self.variants)}"
        if self.skipped:
            yield f"  {self.skipped} more were skipped because not all of these explained them"
        yield from (f"wrote {file}" for file in self.files)
        for name, query in self.queries.items():
            yield f"{name} opens the study's link with {query}"
        yield f"Next: spa check {self.files[0]}"


def draw(side_by_side: SideBySide, number: int | None, seed: int) -> list[RatedTarget]:
    """Return the ratings to review, all or ``number`` of them, in random order.

    The order reveals nothing about which ratings belong together.
    """
    from spa.elicitation.balanced_draws import draw_order
    from spa.study.sampling import study_rng

    there = sorted(side_by_side.explained, key=repr)
    order = draw_order(len(there), study_rng(seed))
    return [there[place] for place in order[:number]]


def words_of(language: str) -> Words:
    """Return the texts of a review in a language, by default in English."""
    tables = tomllib.loads(resources.files("spa.commands").joinpath("review_words.toml").read_text(encoding="utf-8"))
    words: Words = tables.get(language.split("-")[0], tables["en"])
    return words


def outputs_of(
    workspace: Workspace,
    side_by_side: SideBySide,
    drawn: Sequence[RatedTarget],
    variants: Mapping[str, RaterVariant],
    words: Words,
) -> Iterator[dict[str, object]]:
    """Yield the rows of outputs.jsonl: a text and, by rater, the question, the rating and its explanation."""
    for number, target in enumerate(drawn, start=1):
        question = question_of(workspace, target)
        output = workspace.outputs.output(target.item_id, target.system, target.sample)
        given = workspace.outputs.item(target.item_id).text
        text = unlabelled(workspace, target)
        answers = words["scale"].format(answers=answers_of(question, words))
        heading = f"{words['question'].format(question=text)}\n{answers}"
        explained = side_by_side.explained[target]
        parts = [*([] if given is None else [given]), output.text or ""]
        for name in side_by_side.variants:
            guidelines = guidelines_for(target.criterion, workspace.study, variants.get(name))
            yield {
                "item_id": f"e{number:04}",
                "text": "\n\n".join(part.strip() for part in parts),
                "system": name,
                "output": f"{heading}\n\n{rating_text(explained[name], question, guidelines, words)}",
                "rated_item": target.item_id,
                "rated_system": target.system,
                "criterion": target.criterion,
                "assignment_id": target.assignment_id,
                "repeat": target.repeat,
            }


def guidelines_for(criterion: str, study: Study, variant: RaterVariant | None) -> str | None:
    """Return the guidelines for a rating: those of its protocol and those of its criterion."""
    added = None if variant is None else variant.protocol.guidelines
    own = {one.id: one.guidelines for one in study.criteria}
    if isinstance(added, tuple):
        own |= dict(added)
        added = None
    return "\n\n".join(text for text in (added, own.get(criterion)) if text is not None) or None


def question_of(workspace: Workspace, rated: RatedTarget) -> Question:
    """Return the question as it was on the form."""
    from spa.elicitation.ratings import RatingTarget

    systems = workspace.store.assignments.key(rated.assignment_id, "llm").systems
    for question in workspace.form(rated.assignment_id, respondents="llm").questions("everybody"):
        target = question.target
        if (
            isinstance(target, RatingTarget)
            and (target.item_id, target.criterion, target.sample) == (rated.item_id, rated.criterion, rated.sample)
            and systems[target.label] == rated.system
        ):
            return question
    raise StudyError(f"{rated.assignment_id}: expected the question about {rated.criterion!r} on this form, got none")


def unlabelled(workspace: Workspace, rated: RatedTarget) -> str:
    """Return a question about one text without the text's label."""
    from spa.records.study import OVERALL

    if rated.criterion == OVERALL:
        return workspace.texts.say("form.identical_overall")
    criterion = next(one for one in workspace.study.criteria if one.id == rated.criterion)
    if criterion.question is None:
        return workspace.texts.say("form.identical_criterion", criterion=criterion.name)
    return criterion.question.replace("{system}", workspace.texts.say("form.unnamed_caption"))


def answers_of(question: Question, words: Words) -> str:
    """Return the possible answers as a range or a list."""
    from spa.widgets import widget_of

    widget = widget_of(question.answer)
    texts = [one.text for one in widget.offers(question.answer)]
    return words["to"].format(low=texts[0], high=texts[-1]) if widget.is_scale(question.answer) else "; ".join(texts)


def rating_text(rated: ExplainedRating, question: Question, guidelines: str | None, words: Words) -> str:
    """Return what a reader judges: the guidelines, the rating and its explanation."""
    from spa.widgets import widget_of

    widget, answer = widget_of(question.answer), question.answer
    rating = f"{rated.score:g}"
    if not widget.is_scale(answer):
        scores = widget.scores(answer)
        rating = next((one.text for one in widget.offers(answer) if scores.get(one.value or "") == rated.score), rating)
    before = [] if guidelines is None else [words["guidelines"].format(guidelines=f"\n{guidelines.strip()}")]
    return "\n\n".join([*before, words["rating"].format(rating=rating), f"{words['explanation']}\n{rated.explanation}"])


def study_text(
    workspace: Workspace,
    names: Sequence[str],
    number: int,
    readers: int,
    words: Words,
    first: Sequence[str],
    reviewers: Sequence[str] = (),
) -> str:
    """Return the study file of a review; ``first`` names the questions asked before it, ``reviewers`` who judge all."""
    items = number if reviewers else min(ITEMS, number)
    readers = len(reviewers) or readers
    parts = [
        f"# Made by spa review-explanations from the study {quoted(workspace.study.id)}. Change what you like before",
        "# spa build; the kinds of errors are those of Chhun et al. (2024), the agreement that of Chiang & Lee (2023).",
        f"id = {quoted(f'{workspace.study.id[:50]}-review')}",
        f"title = {quoted(words['title'])}",
        f"language = {quoted(workspace.study.language)}",
        f"seed = {workspace.study.seed}",
        '\n[outputs]\nfiles = ["outputs.jsonl"]\nitem_text = "text"',
        *(f"\n[[systems]]                    # never named on a form\nid = {quoted(name)}" for name in names),
        *(_criterion(name, words, ("yes", 1), ("no", 0), more="lower_is_better = true\n") for name in ERRORS),
        _criterion("agreement", words, *AGREEMENT.items(), more="reason = true\n"),
        *(
            f'\n[[interview]]\nid = "{name}"\nquestion = {quoted(words[f"{name}_asked"])}\nfirst = true'
            for name in first
        ),
        f'\n[[interview]]\nid = "overall"\nquestion = {quoted(words["overall_asked"])}',
        f"\n[debriefing]\ntext = {quoted(words['debriefing'])}",
        '\n[categories]\noutputs = "all"',
        f"\n[design]\nitems = {items}                      # that one reader is shown",
        f"\n[instructions]\ntext = {quoted(words['instructions'])}",
        f'\n[texts]\n"form.system_label" = {quoted(words["label"])}\n"form.item_caption" = {quoted(words["item"])}'
        f'\n"form.rating_title" = {quoted(words["page"])}',
        f"\n[people]\nannotators = {-(-readers * number // items)}               # {readers} for each explanation",
        *(
            f'\n[[people.groups]]\nname = {name}\nplaces = 1\nparameter = "{REVIEWER}"\nvalues = [{name}]'
            for name in map(quoted, reviewers)
        ),
    ]
    return "\n".join(parts) + "\n"


def _criterion(name: str, words: Words, *options: tuple[str, int], more: str) -> str:
    offered = ", ".join(f"{{ text = {quoted(words[key])}, score = {score} }}" for key, score in options)
    return (
        f"\n[[criteria]]\nid = {quoted(name)}\nname = {quoted(words[name])}\n"
        f"question = {quoted(words[f'{name}_asked'])}\n{more}options = [{offered}]"
    )


def quoted(text: str) -> str:
    r"""Quote a text for TOML; JSON quotes alike, but for the delete character and surrogate pairs.

    >>> print(quoted('a "b"\n'))
    "a \"b\"\n"
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_study(folder: Path, text: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Write the study's files; study.toml comes last, so that it implies the others.

    Raise StudyError if the folder is not empty, or cannot be written.
    """
    try:
        if folder.exists() and any(folder.iterdir()):
            raise StudyError(f"{folder}: expected a new or empty folder, got files in it; choose another --out")
        folder.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".spa-review-") as temporary:
            for name, content in (("outputs.jsonl", lines), ("study.toml", text)):
                path = Path(temporary) / name
                path.write_text(content, encoding="utf-8", errors="backslashreplace")
                path.rename(folder / name)
    except OSError as error:
        raise StudyError(f"{folder}: expected a writable folder, got {error.strerror}") from error
