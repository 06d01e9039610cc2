"""Which part of what was recorded says which system answered, and which names are those of one system."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from spa.starting.traces.layout import FILE, SYSTEM_MESSAGE, at
from spa.starting.traces.requests import Request

MOST_SYSTEMS = 20
LONGEST_NAME = 100
SYSTEM_KEYS = ("system", "system_id", "variant", "arm", "condition", "model", "model_name", "agent", "pipeline")
OTHER_KEYS = ("experiment", "version", "prompt_version", "prompt_name", "project", "app", "branch", "revision")
TAGS_LOOKED_AT = 5
CALLED = frozenset(SYSTEM_KEYS[:5])  # keys of what is called a system, and not after its model
DATE = re.compile(r"[-@](20\d\d-?\d\d-?\d\d|\d{4})$")  # a model's name ends in the day of its snapshot
COVERED, LEAST_JOINED = 0.9, 0.5  # of the answers that say it, and of the prompts that two systems answered


@dataclass(frozen=True, kw_only=True)
class SystemPath:
    """What stands at one path of the requests that were answered.

    Parameters
    ----------
    path : str
        In a record.
    likely : int
        0 of what is called a system, 1 of the model, 2 and 3 of what is called otherwise, 4 of the file.
    values : tuple of tuple of str
        Of each request what it says; more than one where its steps say different things.
    asked, items : tuple of str
        Of each request its question, and the id that this has.
    """

    path: str
    likely: int
    values: tuple[tuple[str, ...], ...]
    asked: tuple[str | None, ...]
    items: tuple[str | None, ...]

    @cached_property
    def names(self) -> Mapping[str, int]:
        """Return each name with its answers, sorted."""
        return dict(sorted(Counter(value[0] for value in self.values if len(value) == 1).items()))

    @cached_property
    def covered(self) -> float:
        """Return the share of the requests that say something."""
        return sum(bool(value) for value in self.values) / len(self.values)

    @cached_property
    def joined(self) -> float:
        """Return the share of the prompts, or of the items, that more than one system answered."""
        return max(self._joined(self.asked), self._joined(self.items))

    def _joined(self, keys: Sequence[str | None]) -> float:
        found: dict[str, set[str]] = {}
        for value, key in zip(self.values, keys, strict=True):
            if len(value) == 1 and key is not None:
                found.setdefault(key, set()).add(value[0])
        return sum(len(names) > 1 for names in found.values()) / max(len(found), 1)

    @property
    def usable(self) -> bool:
        """Whether the names are as many as a study has."""
        return 2 <= len(self.names) <= MOST_SYSTEMS and sum(self.names.values()) > LEAST_JOINED * len(self.values)

    @property
    def order(self) -> tuple[bool, int, bool]:
        """Return by what paths are sorted, the likeliest first."""
        return self.joined < LEAST_JOINED, self.likely, self.covered < COVERED

    @property
    def joins(self) -> bool:
        """Whether it is said of nearly all answers, and most prompts went to several systems."""
        return self.covered >= COVERED and self.joined >= LEAST_JOINED

    def called(self, names: Mapping[str, str]) -> SystemPath:
        """Return the same with other names for some."""
        return replace(self, values=tuple(tuple(names.get(name, name) for name in value) for value in self.values))

    def says_as(self, other: SystemPath) -> bool:
        """Return whether each of its names goes with one of another path, wherever both say one thing."""
        both = zip(self.values, other.values, strict=True)
        pairs = {(*mine, *theirs) for mine, theirs in both if len(mine) == len(theirs) == 1}
        return len(pairs) == len({pair[0] for pair in pairs}) == len({pair[-1] for pair in pairs})


def paths_of(requests: Sequence[Request]) -> list[SystemPath]:
    """Return what may say which system answered, the likeliest first.

    A name that every answer has, or more than 20, is none; so is what fewer than half of the answers say.
    """
    candidates = dict.fromkeys(path for request in requests for path in _candidates(request))
    found = [system_path(requests, path, likely) for path, likely in sorted(candidates, key=lambda one: one[1])]
    return sorted((one for one in found if one.usable), key=lambda one: one.order)


def system_path(requests: Sequence[Request], path: str, likely: int = 0) -> SystemPath:
    """Return what stands at a path."""
    return SystemPath(
        path=path,
        likely=likely,
        values=tuple(request.named(path) for request in requests),
        asked=tuple(request.prompt(path) for request in requests),
        items=tuple(request.item for request in requests),
    )


def called(path: str) -> str:
    """Return what a reader calls a path."""
    return {FILE: "name of the file", SYSTEM_MESSAGE: "system message"}.get(path, path)


def _candidates(request: Request) -> Iterator[tuple[str, int]]:
    """Yield paths of one request with how likely they are."""
    tool, record, given_at = request.top.tool, request.top.record, request.top.given_at
    for key in SYSTEM_KEYS:
        if key in request.fields():
            yield f"{given_at}.{key}", 0 if key in CALLED else 1
    yield from ((path, 1) for path in tool.systems)
    yield SYSTEM_MESSAGE, 3
    yield FILE, 4
    for area in tool.facts:
        value = at(record, area)
        if isinstance(value, list):
            yield from ((f"{area}[{place}]", 3) for place in range(min(len(value), TAGS_LOOKED_AT)))
        elif isinstance(value, dict):
            yield from (
                (f"{area}.{key}", 0 if key in CALLED else 1 if key in SYSTEM_KEYS else 2)
                for key, one in value.items()
                if key in SYSTEM_KEYS or key in OTHER_KEYS
                if isinstance(one, str) and len(one) <= LONGEST_NAME
            )
        elif isinstance(value, str):
            yield area, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemNames:
    """SystemNames that may be those of one system: what each is called then, and whether that is certain."""

    same: Mapping[str, str]
    certain: bool


def same_names(names: Iterable[str], answered_by: Mapping[str, frozenset[str]]) -> SystemNames:
    """Return which names may be those of one system.

    Parameters
    ----------
    names : iterable of str
        Of systems.
    answered_by : mapping of str to frozenset of str
        The models that answered to a name. It is certain that two names are one system where a single model, by its
        date, answered to both, and one is the other with the name of a provider before it, or a date behind.

    >>> same_names(["openai/a", "a", "b"], {"openai/a": frozenset({"a-2026"}), "a": frozenset({"a-2026"})})
    SystemNames(same={'a': 'a', 'openai/a': 'a'}, certain=True)
    """
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        groups.setdefault(DATE.sub("", name.rsplit("/", 1)[-1]), []).append(name)
    several = {bare: group for bare, group in groups.items() if len(group) > 1 and _alike(bare, group, answered_by)}
    same = {name: bare for bare, group in several.items() for name in group}
    certain = all(_one_model(bare, group, answered_by) for bare, group in several.items())
    return SystemNames(same=same, certain=certain)


def _alike(bare: str, names: Sequence[str], answered_by: Mapping[str, frozenset[str]]) -> bool:
    """Return whether names may be those of one system: a/x and b/x only where one model answered to both."""
    dated = any(DATE.search(name) for name in names)
    return bare in names or dated or len({answered_by.get(name, frozenset((name,))) for name in names}) == 1


def _one_model(bare: str, names: Sequence[str], answered_by: Mapping[str, frozenset[str]]) -> bool:
    """Return whether one model answered to all names, of which only one differs from the bare one."""
    models = {answered_by.get(name, frozenset()) for name in names}
    return bare in names and len(names) == 2 and len(models) == 1 and len(next(iter(models))) == 1
