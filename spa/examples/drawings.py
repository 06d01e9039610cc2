"""Draws "three red circles in a row" well, hastily and badly, as small PNG files."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

SIZE = 160  # pixels
GRID = 3  # each pixel is sampled GRID x GRID times, for smooth edges
PAPER = (250, 248, 244)
COLOURS = {
    "red": (200, 40, 50),
    "blue": (40, 90, 190),
    "green": (40, 140, 80),
    "orange": (225, 130, 30),
}
NUMBERS = {2: "Two", 3: "Three", 4: "Four", 5: "Five"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What the drawers were asked for."""

    number: int
    colour: str

    @property
    def text(self) -> str:
        """Return the task in words."""
        return f"{NUMBERS[self.number]} {self.colour} circles of the same size, in a straight row."


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """A filled circle, in pixels."""

    x: float
    y: float
    radius: float
    colour: str


TASKS = tuple(
    Task(number=number, colour=colour)
    for number, colour in (
        (3, "red"), (4, "blue"), (2, "green"), (5, "orange"), (3, "blue"), (4, "green"), (5, "red"), (2, "orange"),
    )
)  # fmt: skip


def steady(task: Task, rng: random.Random) -> tuple[Circle, ...]:
    """Draw what was asked; only the height of the row varies."""
    step = SIZE / task.number
    y = SIZE * (0.4 + 0.2 * rng.random())
    return tuple(
        Circle(x=step * (place + 0.5), y=y, radius=0.4 * step, colour=task.colour) for place in range(task.number)
    )


def hasty(task: Task, rng: random.Random) -> tuple[Circle, ...]:
    """Draw the right number and colour, but crooked and uneven."""
    return tuple(
        replace(
            circle,
            x=circle.x + 10 * (rng.random() - 0.5),
            y=circle.y + 50 * (rng.random() - 0.5),
            radius=circle.radius * (0.5 + 0.5 * rng.random()),
        )
        for circle in steady(task, rng)
    )


def careless(task: Task, rng: random.Random) -> tuple[Circle, ...]:
    """Draw circles anywhere: one too many or too few, some in another colour."""
    number = task.number + (1 if rng.random() < 0.5 else -1)
    colours = sorted(COLOURS)
    return tuple(
        Circle(
            x=SIZE * (0.15 + 0.7 * rng.random()),
            y=SIZE * (0.15 + 0.7 * rng.random()),
            radius=8 + 20 * rng.random(),
            colour=task.colour if rng.random() < 0.5 else colours[int(rng.random() * len(colours))],
        )
        for _ in range(max(1, number))
    )


DRAWERS: dict[str, Callable[[Task, random.Random], tuple[Circle, ...]]] = {
    "steady": steady,
    "hasty": hasty,
    "careless": careless,
}


def png(circles: Sequence[Circle]) -> bytes:
    """Return a PNG file of the circles on paper; later ones lie on top."""
    rows = b"".join(b"\0" + bytes(value for x in range(SIZE) for value in _pixel(circles, x, y)) for y in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)  # eight bits a channel, RGB
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    )


def _pixel(circles: Sequence[Circle], x: int, y: int) -> tuple[int, int, int]:
    near = [one for one in circles if (one.x - x - 0.5) ** 2 + (one.y - y - 0.5) ** 2 < (one.radius + 1) ** 2]
    if not near:
        return PAPER
    top = near[-1]
    if top.radius > 1 and (top.x - x - 0.5) ** 2 + (top.y - y - 0.5) ** 2 < (top.radius - 1) ** 2:
        return COLOURS[top.colour]
    total = [0, 0, 0]
    for row in range(GRID):
        for column in range(GRID):
            across, down = x + (column + 0.5) / GRID, y + (row + 0.5) / GRID
            hit = next((c for c in reversed(near) if (c.x - across) ** 2 + (c.y - down) ** 2 < c.radius**2), None)
            for channel, value in enumerate(COLOURS[hit.colour] if hit else PAPER):
                total[channel] += value
    red, green, blue = (value // GRID**2 for value in total)
    return red, green, blue
