"""Who said that clips do not play: what a status and the dashboard tell while a study runs."""

from __future__ import annotations

import json
from collections.abc import Mapping

from spa.media import medium_of, medium_of_file
from spa.records.study import Study
from spa.responses.payloads import fields_of
from spa.responses.reading_evidence import READING
from spa.responses.store import Store

MOST_NAMED = 5  # annotators


def unplayable_clips(study: Study, store: Store) -> dict[str, int]:
    """Return how many clips do not play by the last word of each annotator, who are absent where all do.

    Nothing is read of studies without anything that is played.
    """
    media = [medium_of(study.outputs.kind), *map(medium_of_file, study.clips.values())]
    if not any(one is not None and one.files is not None and one.files.streamed for one in media):
        return {}
    found: dict[str, int] = {}
    for lease in store.visits.of_people():
        last = {payload.page_id: payload.body for payload in store.visits.payloads(lease.submission_id)}
        clips = {clip for body in last.values() for clip in _unplayable(body)}
        if clips:
            found[lease.annotator_id] = found.get(lease.annotator_id, 0) + len(clips)
    return found


def _unplayable(body: str) -> list[str]:
    if "unplayable" not in body:
        return []
    try:
        clips = json.loads(fields_of(body)[READING])["unplayable"]
    except (KeyError, TypeError, ValueError):  # no evidence, or refused when it came
        return []
    return [clip for clip in clips if isinstance(clip, str)] if isinstance(clips, list) else []


def unplayable_line(unplayable: Mapping[str, int]) -> str | None:
    """Return what is found in words; ``None`` where all clips play.

    >>> unplayable_line({"a1": 2, "b2": 1})
    'clips that do not play, by the word of 2 people: 3 (a1: 2, b2: 1)'
    """
    if not unplayable:
        return None
    named = [f"{who}: {clips}" for who, clips in sorted(unplayable.items(), key=lambda one: -one[1])]
    more = ["..."] if len(named) > MOST_NAMED else []
    people = "1 person" if len(unplayable) == 1 else f"{len(unplayable):,} people"
    listed = ", ".join([*named[:MOST_NAMED], *more])
    return f"clips that do not play, by the word of {people}: {sum(unplayable.values()):,} ({listed})"
