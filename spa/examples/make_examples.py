"""Writes the outputs of the example studies: ``python -m spa.examples.make_examples``.

Deterministic: what it writes is committed beside it, and a test compares the two. The Chinese and
Arabic outputs were written by hand and are left alone.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from spa.examples.drawings import DRAWERS, TASKS, png
from spa.examples.more_story_texts import MORE_STORIES
from spa.examples.story_texts import STORIES, Story

SAMPLES = 2  # images that each drawer makes of each task


def formula(story: Story) -> str:
    """Return a tidy story without surprises: the same plot whatever the prompt."""
    return (
        f"Once there was a day that {story.hero} would never forget. It all began with the {story.thing}. "
        f"At first things looked bad, because {story.trouble}. Many people would have given up, "
        f"but {story.hero} did not. "
        f"After some thought, {story.hero} {story.deed}. It was not easy, but it was worth it. "
        f"In the end, everyone understood that {story.ending}."
    )


def parrot(story: Story) -> str:
    """Return a text that says the same thing again and again."""
    hero = story.hero.capitalize()
    return (
        f"There was a {story.thing}. It was a very nice {story.thing} and {story.hero} liked the {story.thing}. "
        f"The {story.thing} was very nice. {hero} looked at the {story.thing} and the {story.thing} was there. "
        f"It was nice. {hero} liked it because the {story.thing} was a very nice {story.thing}. "
        f"And the {story.thing} was very nice and the {story.thing} was there."
    )


def salad(number: int, length: int = 60) -> str:
    """Return words that follow each other as they do somewhere in the hand-written stories, and nowhere else.

    Parameters
    ----------
    number : int
        Which story; seeds the generator.
    length : int
        Words.
    """
    follows: dict[str, list[str]] = defaultdict(list)
    for story in STORIES:
        words = story.written.split()
        for word, following in pairwise(words):
            follows[word].append(following)
    known = sorted(follows)
    rng = random.Random(number)  # only random() is used: the one method that never changed

    def pick(words: Sequence[str]) -> str:
        return words[int(rng.random() * len(words))]

    made = [pick(known)]
    while len(made) < length:
        made.append(pick(follows[made[-1]]) if made[-1] in follows and rng.random() < 0.75 else pick(known))
    text = " ".join(made).strip(".,;:'")
    return text[:1].upper() + text[1:] + "."


def write_stories(folder: Path) -> None:
    """Write one row an item, the prompt and what each of four writers made of it, into two files.

    Studies like those of papers take the first file only.
    """
    writers: dict[str, Callable[[int, Story], str]] = {
        "novelist": lambda _, story: story.written,
        "formula": lambda _, story: formula(story),
        "parrot": lambda _, story: parrot(story),
        "salad": lambda number, _: salad(number),
    }
    rows = [
        {
            "item_id": f"s{number:02}",
            "prompt": story.prompt,
            **{name: write(number, story) for name, write in writers.items()},
        }
        for number, story in enumerate((*STORIES, *MORE_STORIES), start=1)
    ]
    _write_rows(folder / "outputs.jsonl", rows[: len(STORIES)])
    _write_rows(folder / "more_outputs.jsonl", rows[len(STORIES) :])


def write_images(folder: Path) -> None:
    """Write the drawings and one row a drawing."""
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    rows = []
    for number, task in enumerate(TASKS, start=1):
        for place, (system, draw) in enumerate(DRAWERS.items()):
            for sample in range(1, SAMPLES + 1):
                circles = draw(task, random.Random(1000 * number + 10 * place + sample))
                file = f"pictures/d{number}{'abc'[place]}{sample}.png"  # says nothing of the system's quality
                (folder / file).write_bytes(png(circles))
                rows.append(
                    {"item_id": f"d{number}", "task": task.text, "system": system, "sample": sample, "image": file}
                )
    _write_rows(folder / "outputs.jsonl", rows)


def _write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def main(folder: Path = Path(__file__).parent) -> None:
    """Write the outputs of all example studies that a program makes."""
    write_stories(folder / "stories")
    write_images(folder / "images")


if __name__ == "__main__":
    main()
