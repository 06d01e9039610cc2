"""What an endpoint cannot do, by the words in which servers refuse it, whatever the status: no retry would help."""

from __future__ import annotations

import re
from typing import NamedTuple

STATUSES = (400, 404, 415, 422, 500, 501)  # some servers answer an unknown key with their own failure
NO_FILES = "no_files"


class Absence(NamedTuple):
    """One thing that requests may ask for."""

    outcome: str
    words: re.Pattern[str]  # in the server's message
    sent: tuple[bytes, ...]  # names in the body, one of which was sent
    message: str  # after the endpoint's name; field {said}


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _setting(name: str) -> Absence:
    message = f"refuses {name}{{said}}; remove {name} from the rater and its variants, or set a value that it takes"
    return Absence(f"no_{name}", _words(rf"\b{name}\b"), (f'"{name}"'.encode(),), message)


ABSENCES = (
    Absence(
        "no_schema",
        _words(r"response_format|json_schema|structured output|text\.format|'text' or 'json_object'"),
        (b'"json_schema"',),
        'takes no JSON schema (response_format){said}; set answer_format = "json" in the rater',
    ),
    Absence(
        "no_logprobs",
        _words(r"logprobs"),
        (b'"top_logprobs"',),
        'gives no probabilities (logprobs){said}; set readout = "verbalised" in the rater',
    ),
    Absence(
        NO_FILES,
        _words(r"\b(?:image|images|image_url|mmproj|multi-?modal|vision|audio|input_audio|video|video_url)\b"),
        (b'"image_url"', b'"input_image"', b'"input_audio"', b'"input_file"', b'"video_url"'),
        "takes no images, sound or videos{said}; start the server with its projector (--mmproj), or name a model that "
        "reads them",
    ),
    Absence(
        "no_max_completion_tokens",
        _words(r"max_completion_tokens"),
        (b'"max_completion_tokens"',),
        "does not take max_completion_tokens{said}; set max_tokens instead",
    ),
    *map(_setting, ("temperature", "top_p", "seed", "reasoning_effort")),
)
OUTCOMES = tuple(absence.outcome for absence in ABSENCES)
# One picture may be refused where others are taken: only these words are about all of them
NO_IMAGES = _words(
    r"mmproj|multi-?modal|(?:not|n['’]t|cannot|unsupported|only|no endpoints?)\b.{0,80}\b(?:image|vision|audio|video)"
    r"|\b(?:images?|image_url|image input|vision|audio|input_audio|video|video_url)\b.{0,60}"
    r"(?:not supported|unsupported|not allowed|only supported)"
)


def absence_of(status: int, message: str, sent: bytes | None = None, param: object = None) -> str | None:
    """Return the outcome of a refusal that names what the endpoint cannot do; ``None`` for any other.

    ``sent`` is the body that was refused, ``param`` the name that the server gives for what is wrong in it.

    >>> absence_of(500, "image input is not supported - hint: you may need to provide the mmproj")
    'no_files'
    >>> absence_of(400, "Unsupported value", b'{"temperature":0.7}', "temperature"), absence_of(503, "temperature")
    ('no_temperature', None)
    """
    if status not in STATUSES:
        return None
    told = param if isinstance(param, str) and param else message
    for absence in ABSENCES:
        if sent is not None and not any(name in sent for name in absence.sent):
            continue
        if absence.outcome == NO_FILES:
            if (status >= 500 and absence.words.search(message)) or NO_IMAGES.search(message):
                return absence.outcome
        elif status != 404 and absence.words.search(told):
            return absence.outcome
    return None
