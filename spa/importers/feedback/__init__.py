"""Published sets of feedback: UltraFeedback, summarize-from-feedback, Pick-a-Pic, PRISM, HelpSteer2."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.questions_of_files import question_options

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables

TAKEN = ("sides", "system_column")  # of the options on questions
SIGNS = {  # what the files of a set hold, by the function that reads them
    "ultrafeedback": ("instruction", "completions", "models"),
    "compared_summaries": ("info", "summaries", "choice", "worker"),
    "rated_summaries": ("info", "summary", "worker"),
    "pick_a_pic": ("model_0", "model_1", "label_0", "label_1", "user_id"),
    "prism_utterances": ("conversation_id", "user_id", "model_name", "if_chosen", "score", "turn", "user_prompt"),
    "prism_conversations": ("conversation_id", "user_id", "conversation_history"),
    "helpsteer_preferences": ("response_1", "response_2", "preference_strength"),
    "helpsteer_ratings": ("prompt", "response", "helpfulness", "correctness", "coherence", "complexity", "verbosity"),
}


def set_of(path: Path) -> str | None:
    """Return which set a file is of, by the names at its beginning."""
    from spa.importers.foreign_rows import names_at_beginning

    names = names_at_beginning(path)
    return next((key for key, signs in SIGNS.items() if names.issuperset(signs)), None)


def _recognise(path: Path) -> Fit:
    if path.is_dir():
        try:
            files = sorted(path.iterdir())[:20]
        except OSError:
            return Fit.NONE
        return Fit.CERTAIN if any(one.is_file() and set_of(one) is not None for one in files) else Fit.NONE
    return Fit.NONE if set_of(path) is None else Fit.CERTAIN


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.feedback.sets import read_sets

    return read_sets(request)


FORMAT = AnswerFormat(
    key="feedback",
    description="Read UltraFeedback, TL;DR comparisons, Pick-a-Pic, PRISM and HelpSteer2.\n\n"
    "FILE is one of these sets as it is published (JSON, JSONL, Parquet), or a folder of files; systems compared with "
    "themselves are left out, and answers that name nobody are tested by item.",
    details="HelpSteer2 names no generators: --compared says what stood first and second, --system-column which column "
    "of yours names the one rated.",
    example="spa import feedback ultrafeedback.jsonl --out tables",
    options=tuple(one for one in question_options() if one.name in TAKEN),
    meaning=FileMeaning(
        sides="choice 0, label_0 1: the first; preference_strength below 0: response_1",
        ties="label_0 0.5; a strength of 0",
        missing="Rating N/A; a strength of -100; has_label false",
        left_out="overall_score; PRISM's turns after the first; a system against itself; the same picture twice",
        seen="cards and readers of the sets, read",
        source="https://huggingface.co/datasets/nvidia/HelpSteer2",
    ),
    recognise=_recognise,
    read=_read,
)
