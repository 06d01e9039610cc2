"""Names that people give to columns of answers: which of our columns each is likely to be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal

from spa.tables.verdicts import FAMILIES

Role = Literal["annotator_id", "item_id", "system", "criterion", "score", "winner", "preference", "rank", "severity"]
ID = r"(?:public|private)?(?:ids?|idx|index|no|nr|num|number|name|code|key|uid|uuid|pid|hash|email)?"
PEOPLE = (
    "annotator",
    "rater",
    "worker",
    "mturkworker",
    "turker",
    "participant",
    "prolific",
    "prolificparticipant",
    "evaluator",
    "assessor",
    "respondent",
    "resp(?:id|no)",
    "subject",
    "labeler",
    "labeller",
    "coder",
    "reviewer",
    "judge",
    "judgemodel",
    "user",
    "voter",
    "listener",
    "viewer",
    "panelist",
    "panellist",
    "expert",
    "person",
    "pid",
    "who",
    "emailaddress",
    "yourname",
    "login",
    "annotatedby",
    "submittedby",
    "createdby",
    "ratedby",
    "judgedby",
    "bewerter",
    "proband",
    "teilnehmer",
    "versuchsperson",
    "annotateur",
    "évaluateur",
)
THINGS = (
    "item",
    "prompt",
    "example",
    "instance",
    "sample",
    "question",
    "globalseg",
    "segment",
    "seg",
    "sentence",
    "utterance",
    "utt",
    "clip",
    "audio",
    "video",
    "recording",
    "document",
    "doc",
    "story",
    "article",
    "passage",
    "query",
    "task",
    "instruction",
    "stimulus",
    "case",
    "vignette",
    "topic",
    "tuple",
    "dialogue",
    "dialog",
    "conversation",
    "context",
    "battle",
    "input",
    "source",
    "problem",
    "image",
    "text",
    "satz",
    "beispiel",
    "aufgabe",
    "frage",
    "phrase",
    "exemple",
    "q",
)
SYSTEMS = (
    "system",
    "sys",
    "model",
    "generator",
    "generatormodel",
    "systemmodel",
    "modelsystem",
    "evaluatedmodel",
    "engine",
    "team",
    "method",
    "algorithm",
    "llm",
    "condition",
    "arm",
    "bot",
    "modell",
    "modele",
    "modèle",
    "systeme",
    "système",
)
CRITERIA = (
    "criterion",
    "criteria",
    "dimension",
    "aspect",
    "attribute",
    "facet",
    "rubric",
    "qualitydimension",
    "metric",
    "kriterium",
    "critère",
)
FILES = ("image", "sample", "clip", "audio", "video", "recording")  # bare, they name what was made
WHO_SAYS = r"(?:human|annotator|rater|judge|llm|user|final|overall|your|mean|avg|average)?"
FORMS: Mapping[Role, tuple[str, ...]] = {  # of names in small letters and figures alone; the first kind is the likelier
    "annotator_id": tuple(rf"{who}{ID}" for who in PEOPLE),
    "item_id": (
        "item",
        "prompt",
        "example",
        "instance",
        *(rf"{thing}(?:id|ids|idx|index|no|nr|num|number|key|uid|uuid)" for thing in THINGS),
        "doc|segment|seg",
        "id|uid|uuid|qid|idx|index",
        *(thing for thing in THINGS if len(thing) > 3 and thing not in FILES),
    ),
    "system": tuple(rf"{what}(?:ids?|name)?" for what in SYSTEMS),
    "criterion": tuple(rf"{what}(?:id|name)?" for what in CRITERIA),
    "score": (
        "rating|scores?|ratings",
        "grade|points?|stars?|marks?|likert|mos|dmos|acr|opinionscore",
        "(?:score|rating)(?:value|given)|feedback|reaction",
        rf"{WHO_SAYS}(?:score|rating|grade)",
        "value|evaluation|judge?ment|label|response|answer|bewertung|wertung|punkte",
    ),
    "winner": (
        "winner",
        rf"{WHO_SAYS}(?:winner|preferred|chosen|choice|verdict|vote|preference|pick|picked|selected|selection)"
        "(?:model|system|output|response|side|label|id)?",
        "votedfor|voted|better|best|whichisbetter|bettermodel|bettersystem|betteroutput|betterresponse|betteranswer|decision|outcome|result"
        "|gewinner|sieger|besser|gagnant|vainqueur|meilleure?|préféré",
        "judge?ment|label|response|answer",
    ),
    "preference": (
        rf"{WHO_SAYS}(?:preference|preferences)",
        "cmos|ccr|comparison(?:mos|score|rating)?|comparative(?:score|rating|judge?ment)?",
        "relative(?:score|rating|quality|preference)",
        "prob|probability|(?:win|preference)prob(?:ability)?",
    ),
    "rank": ("rank|ranking|rankorder|ranked", "place|placement"),
    "severity": ("severity",),
}
TOLOKA = re.compile("^(?:INPUT|OUTPUT|ASSIGNMENT):")  # before names in its files
KIND_FORMS = rf"(?:annotator|rater|judge|worker|evaluator){ID}?(?:kind|type)"
SIDED = re.compile(r"system|sys|model|generator|engine|method|llm|bot|algorithm|candidate|player|name|id|origin")
NO_FAMILY = ("top", "bottom", "one", "two")
AGAINST = (("model", "baseline"), ("candidate", "baseline"), ("system", "baseline"), ("system", "reference"))
GIVEN_TO_SYSTEMS = frozenset(  # words of lists that hold what systems were given, and no answers
    "context contexts passage passages reference references refs turns messages message conversation dialogue dialog "
    "history documents document docs sources tags keywords tokens evidence citations images chunks retrieved retrieval "
    "sentences facts keyphrases".split()
)
KNOWN_CRITERIA = frozenset(
    "fluency coherence relevance consistency informativeness grammar grammaticality adequacy overall quality accuracy "
    "helpfulness correctness complexity verbosity simplicity meaning factuality naturalness engagement engagingness "
    "empathy surprise readability clarity style safety harmlessness honesty usefulness usability creativity novelty "
    "originality diversity faithfulness completeness conciseness interestingness understandability specificity truth "
    "toxicity bias humor humour tone depth detail structure organization organisation language content format "
    "formatting likability politeness plausibility preservation similarity satisfaction trust aesthetics alignment "
    "realism fidelity intelligibility pronunciation rhythm melody beauty appeal appropriateness groundedness "
    "persuasiveness logic reasoning errors hallucination hallucinations fluent coherent relevant grammatical".split()
)
SCORED = ("score", "scores", "rating", "ratings", "grade", "points", "mark", "stars", "likert", "rate")
RANKED = ("rank", "ranking", "ranked")
SYSTEM_LIKE = re.compile(
    r"(?i)(?:.*[\W_])?(?:chatgpt|gpt|llama|claude|gemini|gemma|mistral|mixtral|qwen|deepseek|vicuna|alpaca|bloom|falcon"
    r"|palm|bart|t5|nmt|deepl|whisper|dall|sdxl|flux|midjourney|imagen)[\W_\dvx]*(?:[\W_].*)?"
    r"|(?:baseline|reference|human|gold|ours|proposed|system|model|sys)[\W_]*(?:\d{1,2}|[a-z])?"
)
METRICS = frozenset("bleu rouge chrf sari meteor comet bleurt bertscore bert ter perplexity cider length".split())
LLM = re.compile(  # of an annotator: with a version, since Claude and Gemini may be people
    r"(?i)(?:^|[\W_])(?:(?:chat|openai)?gpt[-_ ]?(?:[345]|oss)|o[134](?:[-_ ]mini|[-_ ]preview)|claude[-_ ]?(?:v?\d"
    r"|opus|sonnet|haiku|instant)|gemini[-_ ]?(?:\d|pro|flash|ultra)|(?:gemma|llama)[-_ ]?\d|(?:mistral|mixtral"
    r"|qwen|deepseek|command|nova)[-_ ]?(?:\d|r\d|v\d|r$|large|medium|small|nemo|chat)|prometheus[-_ ]?\d)"
)


def plain_name(name: str) -> str:
    """Return a column's name in small letters and figures alone, without what MTurk and exports put before it.

    >>> plain_name("Worker ID"), plain_name("Prompt #"), plain_name("Input.system_name")
    ('workerid', 'prompt', 'systemname')
    """
    bare = re.sub(r"(?i)^(?:input|answer|data|fields|metadata)\.", "", TOLOKA.sub("", name.strip()))
    return re.sub(r"[\W_]+", "", bare.casefold())


def likeliest(names: Iterable[str], role: Role) -> list[tuple[int, str]]:
    """Return which of the names may be one of our columns, the likeliest first, with how likely (0 is the most).

    >>> [name for _, name in likeliest(["Rater", "id", "Prompt #"], "item_id")]
    ['Prompt #', 'id']
    """
    forms = FORMS[role]
    found = []
    for name in names:
        plain = plain_name(name)
        place = next((n for n, form in enumerate(forms) if re.fullmatch(form, plain)), None)
        if place is not None:
            found.append((place, name))
    return sorted(found)


def is_turn(name: str) -> bool:
    """Whether a column is called as those that number the turns of a conversation.

    >>> is_turn("turn"), is_turn("Turn ID"), is_turn("turns")
    (True, True, False)
    """
    return re.fullmatch(rf"turn{ID}", plain_name(name)) is not None


def kind_column(names: Iterable[str]) -> str | None:
    """Return the column that says whether an annotator is a person or an LLM."""
    return next((name for name in names if re.fullmatch(KIND_FORMS, plain_name(name))), None)


def words_of(name: str) -> list[str]:
    """Return the words of a name: parted by signs, by capitals and between letters and a last figure.

    >>> words_of("model_A"), words_of("leftModel"), words_of("generator1")
    (['model', 'a'], ['left', 'model'], ['generator', '1'])
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d+$)", " ", TOLOKA.sub("", name))
    return [word.casefold() for word in re.split(r"[\W_]+", parted) if word]


def sides_named(names: Sequence[str], *, texts: bool = False) -> list[tuple[str, str]]:
    """Return the pairs of columns that are called the first and the second of two systems, or of two ``texts``.

    >>> sides_named(["model_b", "model_a", "winner"]), sides_named(["A_origin", "B_origin"])
    ([('model_a', 'model_b')], [('A_origin', 'B_origin')])
    """
    found = []
    for one, other in combinations(names, 2):
        first, second = words_of(one), words_of(other)
        for family in FAMILIES:
            if len(family[0]) > 1 and family[0] in NO_FAMILY:
                continue
            for left, right in ((one, other), (other, one)):
                own, others = (first, second) if left == one else (second, first)
                if own.count(family[0]) == 1 and others.count(family[1]) == 1:
                    rest = [word for word in own if word != family[0]]
                    same = rest == [word for word in others if word != family[1]]
                    if same and (texts or _are_systems(rest, family[0])):
                        found.append((left, right))
    plain = {plain_name(name): name for name in names}
    if not texts:
        found += [(plain[one], plain[other]) for one, other in AGAINST if one in plain and other in plain]
    return list(dict.fromkeys(found))


def _are_systems(rest: Sequence[str], side: str) -> bool:
    """Whether the other words of a column say that it names systems; "left" alone does, "A" does not."""
    return all(SIDED.fullmatch(word) for word in rest) and (bool(rest) or side in ("left", "links", "gauche"))


def systems_named(columns: Sequence[str]) -> dict[str, str] | None:
    """Return the system of each column of scores, where their names say that each is a system.

    >>> systems_named(["gpt_score", "llama_score"]), systems_named(["fluency", "coherence"])
    ({'gpt_score': 'gpt', 'llama_score': 'llama'}, None)
    """
    bare = {name: _without_scored(name) for name in columns}
    if len(columns) < 2 or not all(bare.values()) or len({*bare.values()}) < len(columns):
        return None
    if any({*words_of(name)} & (KNOWN_CRITERIA | METRICS) for name in columns):
        return None
    return bare if any(map(is_system_like, columns)) else None


def is_system_like(column: str) -> bool:
    """Whether a column of scores has the name of a known system, or of one as studies call theirs.

    >>> is_system_like("gpt4_score"), is_system_like("ours"), is_system_like("latency")
    (True, True, False)
    """
    return SYSTEM_LIKE.fullmatch(_without_scored(column)) is not None


def ranks_named(columns: Sequence[str]) -> dict[str, str]:
    """Return the system of each column that is called the rank of something.

    >>> ranks_named(["rank_gpt", "llama rank", "rank", "prompt"])
    {'rank_gpt': 'gpt', 'llama rank': 'llama'}
    """
    bare = {name: _without_scored(name, RANKED) for name in columns}
    return {name: rest for name, rest in bare.items() if rest and rest != name.strip() and len(words_of(name)) > 1}


def _without_scored(name: str, words: Sequence[str] = SCORED) -> str:
    """Return a name without the word that says that it is a score, at its beginning or end."""
    nouns = "|".join(words)
    bare = re.sub(rf"(?i)^(?:{nouns})(?:[\W_]+(?:of|for))?[\W_]+|[\W_]+(?:{nouns})$", "", name.strip())
    return bare.strip()


def is_llm(name: str) -> bool:
    """Whether an annotator's name is that of a version of a known LLM.

    >>> is_llm("gpt-4"), is_llm("weighted_alpaca_eval_gpt4_turbo"), is_llm("Claude"), is_llm("rater4")
    (True, True, False, False)
    """
    return LLM.search(name) is not None
