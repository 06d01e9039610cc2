"""The answers to a question as tokens: a tree whose paths are the options, scored from one prompt.

An option's probability is that of a reply which begins with the option and not with a longer one
of the same question: the product of its tokens' probabilities, less that of going on to a longer
option (1, 10, 100). These events exclude each other, so that their sum is the mass that falls on
the options; how a model ends its reply (end of turn, ".", " %") makes no difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from spa.raters.endpoints.distribution import Distribution

TAIL = 64  # characters at the end of a prompt that may be cut into other tokens by what follows

Path = tuple[int, ...]  # tokens after the prompt
Encode = Callable[[Sequence[str]], Sequence[Sequence[int]]]


class SameTokens(Exception):
    """A tokeniser cannot tell two options apart; the message names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionTree:
    """The options of a question as paths of tokens.

    ``dropped`` is the number of tokens at the end of the prompt that are cut otherwise when an
    option follows; the paths begin with what stands in their place.
    """

    paths: Mapping[str, Path]  # value of an option -> its tokens
    dropped: int = 0

    def __post_init__(self) -> None:
        seen: dict[Path, str] = {}
        for value, path in self.paths.items():
            if path in seen or not path:
                raise SameTokens(f"{seen.get(path, '')!r} and {value!r}")
            seen[path] = value

    @property
    def inner(self) -> tuple[Path, ...]:
        """The places where the next token is looked at, short ones first: ``()`` is the end of the prompt."""
        places = {path[:length] for path in self.paths.values() for length in range(len(path))}
        return tuple(sorted(places, key=lambda place: (len(place), place)))

    def children(self, place: Path) -> tuple[int, ...]:
        """Return the tokens that lead on from a place to an option."""
        depth = len(place)
        return tuple(sorted({p[depth] for p in self.paths.values() if len(p) > depth and p[:depth] == place}))

    def distribution(self, log_probabilities: Mapping[Path, Mapping[int, float]]) -> Distribution:
        """Return the distribution over the options.

        ``log_probabilities`` holds, for every place in ``inner``, the natural logarithm of each child's probability.
        """
        reached = {
            path: math.fsum(log_probabilities[path[:place]][token] for place, token in enumerate(path))
            for path in self.paths.values()
        }
        found = {value: self._alone(path, reached) for value, path in self.paths.items()}
        logs = {value: one for value, one in found.items() if one > -math.inf}
        if not logs:
            raise ValueError("every option has probability 0")
        most = max(logs.values())
        total = math.fsum(math.exp(one - most) for one in logs.values())
        shares = {value: math.exp(found[value] - most) / total for value in found}
        return Distribution(probabilities=shares, mass=min(1.0, total * math.exp(most)))

    def _alone(self, path: Path, reached: Mapping[Path, float]) -> float:
        """Return the logarithm of the probability that a path is gone, and none on to a longer option."""
        longer = [other for other in reached if len(other) > len(path) and other[: len(path)] == path]
        every = set(longer)
        next_ones = [one for one in longer if not any(one[:size] in every for size in range(len(path) + 1, len(one)))]
        if not next_ones or reached[path] == -math.inf:
            return reached[path]
        going_on = math.fsum(math.exp(reached[one] - reached[path]) for one in next_ones)
        return reached[path] + math.log1p(-going_on) if going_on < 1 else -math.inf


def option_tree(prompt: str, options: Sequence[str], encode: Encode) -> OptionTree:
    """Cut the options into tokens as they are cut after the prompt, the whole text before the answer.

    ``encode`` gives the tokens of texts without any that mark beginning or end. Raise SameTokens if two options are the
    same tokens.
    """
    tail = prompt[-TAIL:]
    alone, *followed = encode([tail, *(tail + option for option in options)])
    shared = min((shared_length(alone, one) for one in followed), default=len(alone))
    paths = {option: tuple(one[shared:]) for option, one in zip(options, followed, strict=True)}
    return OptionTree(paths=paths, dropped=len(alone) - shared)


def shared_length(left: Sequence[object], right: Sequence[object]) -> int:
    """Return how many tokens two sequences share at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
