"""What the questions of a POTATO task mean: the keys of ``import.toml``."""

from __future__ import annotations

from spa.importers.mapping import Names
from spa.records.toml_table import Text, TomlTable


class LlmFile(TomlTable):
    """Answers of an LLM beside the people's: one JSON object a line, ``{"id": ..., SYSTEM: {CRITERION: label}}``."""

    id: Text  # the LLM's name
    file: Text  # relative to the folder imported


class Potato(TomlTable):
    """A folder of POTATO output in which each item shows one text a system and asks the same of each.

    The label of the first system is the criterion's name, those of the others carry ``_2``, ``_3``, ...
    """

    systems: Names  # in the order of the texts
    criteria: Names
    skip: tuple[Text, ...] = ("attention_check_*", "*.html")  # patterns of instance ids that are no items
    ignore: tuple[Text, ...] = ()  # patterns of labels that are left out
    llms: tuple[LlmFile, ...] = ()
