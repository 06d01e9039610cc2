"""What columns are usually called that hold items, systems, outputs and prompts."""

from __future__ import annotations

import re
from typing import Literal

from spa.tables.other_rows import UNNAMED

Role = Literal["item", "system", "output", "prompt", "reference", "aside"]
PASSAGES = tuple(  # what a system was given, or found, beside the question: lists of texts, or one text
    (
        "context contexts passage document retrieved_contexts retrieved_context retrieval_context passages "
        "retrieved_passages documents retrieved_documents docs retrieved_docs source_documents ctxs chunks "
        "retrieved_chunks evidence evidences search_results reference_contexts knowledge"
    ).split()
)
NAMES: dict[Role, tuple[str, ...]] = {  # the likeliest first; "aside" are texts beside an output
    "item": tuple(
        (
            "item_id item custom_id prompt_id question_id instruction_id input_id query_id qid doc_id document_id "
            "example_id sample_id task_id conversation_id dialogue_id story_id source_id segment_id seg_id segid "
            "sentence_id sent_id line "
            "id uid uuid "
            "guid key idx index number nr no "
        ).split()
    ),
    "system": tuple(
        (
            "system system_id system_name model model_id model_name generator generator_name engine llm agent method "
            "approach assistant source_model model_version checkpoint variant config configuration condition version "
            "run deployment provider team "
        ).split()
    ),
    "output": tuple(
        (
            "output outputs response responses answer completion generation generated_text model_output model_response "
            "model_answer output_text response_text actual_output generated prediction "
            "filtered_resps resps reply result hypothesis "
            "hyp summary translation story poem candidate decoded text content message turns image image_path file "
            "path audio audio_path audio_file wav wav_path wav_file speech video video_path video_file mp4 clip "
        ).split()
    ),
    "prompt": tuple(
        (
            "prompt instruction question query q user_prompt input user_input task source source_text src article "
            "document passage context opening title messages conversation turns goal user user_message request problem "
            "text content sentence "
            "original premise "
        ).split()
    )
    + PASSAGES,
    "reference": tuple(
        (
            "reference references gold target ground_truth label expected expected_output ideal ref gold_answer "
            "reference_answer reference_output correct_answer answer_key solution "
        ).split()
    ),
    "aside": tuple(
        (
            "reasoning reasoning_content rationale thinking thought thoughts explanation comment comments note notes "
            "error warning finish_reason stop_reason timestamp date time created created_at url link hash category "
            "topic tag tags domain language lang split dataset subset metadata system_prompt refusal status role "
            "object judge verdict feedback review annotator source_url author license type format "
        ).split()
    ),
}
LISTS = frozenset(  # a dictionary {system: output} is usually called so
    ("outputs", "responses", "answers", "completions", "generations", "models", "systems", "output", "predictions")
)
ITEM_NAMES = {  # what prompts of some names are called on a form
    **{name: name.capitalize() for name in ("source", "question", "article", "document", "passage", "task", "story")},
    **dict.fromkeys(("source_text", "src"), "Source"),
    **dict.fromkeys(("query", "problem"), "Question"),
    **dict.fromkeys(("instruction", "instructions"), "Instruction"),
}
PROMPTS_WITH = frozenset(  # go below the prompt itself
    ("input", "article", "source", *PASSAGES)
)
PROMPTS_FIRST = frozenset(("instruction", "question", "query", "user_input", "task", "prompt"))
FILES_GIVEN = frozenset(  # paths of what systems were given, beside the prompt
    "image images image_path image_file input_image source_image img picture photo".split()
)
TEXT = re.compile("_(text|content|string|sentence|body)$")  # "input_text" is an input
INDEX = re.compile("_(idx|index|number|num|nr|no|key)$")  # "prompt_index" is as good as a "prompt_id"
REFERENCES = frozenset(("reference", "references", "gold"))  # words that any name of a reference may hold
PASSAGE_WORDS = frozenset(("contexts", "passages", "documents", "docs", "ctxs", "chunks"))
BESIDE = frozenset(
    "note notes comment comments score rating category timestamp date url explanation rationale reasoning".split()
)
PEOPLE = frozenset(  # who answers; an id or a name of theirs may follow
    "annotator rater worker participant evaluator assessor respondent labeler labeller reviewer judge voter "
    "prolific_pid email_address user_id user_name username".split()
)
ANSWERS = frozenset(  # what people say of outputs
    "winner loser preference preferred verdict choice vote score scores rating ratings rank ranking severity "
    "likert".split()
)
BY_PERSON = re.compile(  # a column of answers for each person, or of one person each
    "(?:vote|votes|verdict|winner|preference|preferred|score|rating|rank|annotation|label)_(?:by_)?"
    "(?:[a-z]{0,2}[0-9]{1,3}|(?P<person>[a-z]+)_?[0-9]{0,3})"
)
NUMBERED = re.compile("_?[0-9]{1,3}$")
IDS, VALUES = frozenset(("id", "name")), frozenset(("raw", "value", "content", "text"))  # say less than what is above
WORDS = re.compile(r"[^\W_]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def last_part(name: str) -> str:
    """Return the last key of a path, in small letters and words parted by ``_``; what is above where that says more.

    >>> last_part("choices[0].message.text"), last_part("modelId"), last_part("Model Output"), last_part('a["b c"]')
    ('message', 'model_id', 'model_output', 'b_c')
    >>> last_part("provider.id"), last_part("doc.id"), last_part("prompt.raw"), last_part("messages[-1].content")
    ('provider', 'doc_id', 'prompt', 'content')
    """
    plain = re.sub(r"\[-?\d+\]", "", name)
    quoted = re.search(r"""\[["'](.*)["']\]$""", plain)
    if quoted:
        return _words(quoted[1])
    above, _, last = plain.rpartition(".")
    key, parent = _words(last), _words(above.rpartition(".")[2])
    if not parent or "[-1]" in name:
        return key
    if any(f"{parent}_{key}" in known for known in NAMES.values()):
        return f"{parent}_{key}"
    told_by_parent = (key in IDS and parent in NAMES["system"]) or (
        key in VALUES and parent in (*NAMES["prompt"], *NAMES["output"])
    )
    return parent if told_by_parent else key


def _words(key: str) -> str:
    return "_".join(WORDS.findall(CAMEL.sub("_", key))).lower()


def place_in(role: Role, name: str) -> int | None:
    """Return the place of a column's name among those usual for a role; ``None`` where it is none of them.

    >>> place_in("system", "response.body.model"), place_in("system", "Prompt")
    (3, None)
    >>> place_in("prompt", "Input text") == place_in("prompt", "input")
    True
    """
    if role in ("item", "prompt") and name.endswith("[-1].content"):  # the last answer of a conversation
        return None
    known = NAMES[role]
    key = last_part(name)
    if role == "reference" and is_passages(name):
        return None
    if role == "reference" and not REFERENCES.isdisjoint(key.split("_")):
        return 0
    for plain in (key, TEXT.sub("", key), INDEX.sub("_id", key)):
        if plain in known:
            return known.index(plain)
    return None


def is_passages(name: str) -> bool:
    """Return whether a column is called as passages are that a system was given or found; of one system, too.

    >>> is_passages("retrieved_contexts"), is_passages("bm25_contexts"), is_passages("docs_a")
    (True, True, True)
    >>> is_passages("answer_without_contexts"), is_passages("with_docs")
    (False, False)
    """
    key = last_part(name)
    words = {*key.split("_")}
    others = words.isdisjoint(("with", "without", "no", *NAMES["output"]))
    return key in PASSAGES or (others and not words.isdisjoint(PASSAGE_WORDS))


def is_beside(name: str) -> bool:
    """Return whether a column's name ends as those of texts beside an output do.

    >>> is_beside("Annotator notes"), is_beside("gpt_4")
    (True, False)
    """
    return last_part(name).rpartition("_")[2] in BESIDE


def is_person(name: str) -> bool:
    """Return whether a column is called as those of who answered are.

    >>> is_person("annotator_id"), is_person("Worker ID"), is_person("PROLIFIC_PID"), is_person("model")
    (True, True, True, False)
    >>> is_person("annotator_2"), is_person("Rater 1")
    (True, True)
    """
    key = NUMBERED.sub("", last_part(name))
    return not PEOPLE.isdisjoint((key, re.sub("_(id|name|code|key|hash)$|(?<=er)id$", "", key)))


def is_answer(name: str) -> bool:
    """Return whether a column is called as those of what people say of outputs are.

    >>> is_answer("winner"), is_answer("Fluency rating"), is_answer("answer")
    (True, True, False)
    >>> is_answer("vote_w1"), is_answer("rating_annotator2"), is_answer("score_text")
    (True, True, False)
    """
    key = last_part(name)
    if key in ANSWERS or key.rpartition("_")[2] in ANSWERS:
        return True
    by = BY_PERSON.fullmatch(key)
    return by is not None and (by["person"] is None or by["person"] in PEOPLE)


def is_unnamed(name: str) -> bool:
    """Return whether a column is an index without a name.

    >>> is_unnamed(""), is_unnamed("Unnamed: 0"), is_unnamed("id")
    (True, True, False)
    """
    return UNNAMED.fullmatch(name) is not None
