"""The words by which replies in English, German, French, Chinese and Arabic give, deny, suppose and refuse an answer.

All patterns are for text in small letters, with digits 0-9 and ASCII signs. Those that end with ``$`` are for what
stands before a number or an option, from the beginning of its sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


class UnreadableText(Exception):
    """The text gives no answer; the message is the reason, and ``levels`` what the answer might have been."""

    def __init__(self, reason: str, levels: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.levels = tuple(levels)


def _any(*words: str) -> str:
    return "(?:" + "|".join(words) + ")"


REFUSED = "the model refused to answer"
# What a model says instead of an answer. Only looked for where no answer is found.
REFUSALS = re.compile(
    _any(
        r"\bas an? (?:ai|artificial|large language|language model|assistant)",
        r"\b(?:i am|i['’]m) (?:just |only )?an? (?:ai|language)",
        r"\b(?:cannot|can['’]t|unable to|not able to|won['’]t|decline to|not comfortable|not appropriate)\b",
        r"\bi(?: am|['’]m) sorry\b",
        r"\bi do(?: not|n['’]t) have (?:personal )?(?:opinions|preferences|feelings)",
        r"作为(?:一个|一款|一名)?\s*(?:ai|人工智能|语言模型)|无法|不能(?:评|给|回答)|抱歉",
        r"كنموذج|كذكاء اصطناعي|لا أستطيع|لا يمكنني|عذر",
    )
)
ANSWER_NOUN = _any(
    r"\b(?:rating|score|grade|mark|verdict|answer|overall|probability|chance|likelihood|percentage|estimate|guess)\b",
    r"\b(?:winner|choice|preference)\b",
    r"\b(?:bewertung|gesamtbewertung|punktzahl|wertung|urteil|antwort|evaluation|évaluation|réponse|(?:la|ma) note)\b",
    r"\bp\s*\([^)]*\)",
    "评分|分数|得分|打分|答案|回答|概率|可能性|評分|分數|評價|評価|評点|得点|点数|スコア|機率|概率|回答|점수|평점|평가",
    r"\b(?:puan(?:ım|ı)?|puntuación|puntaje|pontuação|nota|punteggio|voto|оценка|балл|beoordeling|betyg|คะแนน)\b",
    "التقييم|تقييمي|الدرجة|درجتي|الإجابة|إجابتي|الجواب|الاحتمال|احتمال|النسبة",
)
HEDGE = _any("about", "around", "roughly", "approximately", "probably", "~", "≈", "大?约为?", "大概", "حوالي") + r"?\s*"
UNIT = _any(
    *("points?", "stars?", "punkte?n?", "sterne?n?", "étoiles?", "puntos", "pontos", "punti", "puan", "балл(?:а|ов)?"),
    *("分", "颗?星", "顆?星", "つ星", "点", "點", "점", "คะแนน", "نقاط", "نجوم", "درجات", "درجة", "نجمة", "نقطة"),
)
ENDING = "(?:です|だ|とします|입니다|이다|이에요|예요)?"  # of a Japanese or Korean sentence, after its number
_IS = _any(r"[:=]", r"\s-\s", r"\b(?:is|was|be|at|as|ist|lautet|beträgt|est)\b", "是|为|為|は|는|은", r"\b(?:هو|هي)\b")
_OPENING = (
    r"\b(?:so|thus|therefore|hence|overall|actually|no|yes|ok|well|sure|maybe|or|only|just|honestly|personally|frankly)\b"
    "|所以|因此|总体"
)
_KIND = r"(?:(?:solid|strong|weak|high|low|clear|firm|fair|generous|decent|full|perfect)\s+)"
_A = rf"(?:\ban?\s+{_KIND}?|\b{_KIND})"
_I = r"(?:\b(?:i|we)\b|\blet me\b)[^:\d]{0,30}?"
# What stands before a number that is the answer.
STANDING = tuple(
    re.compile(pattern + r"\s*$")
    for pattern in (
        rf"^[\s:,(]*(?:(?:{_OPENING})\W*)*{HEDGE}{_A}?{HEDGE}",  # alone in its sentence
        rf"[,:]\s*(?:{_OPENING})\W*{_A}?{HEDGE}",  # "weak, so"
        rf"{ANSWER_NOUN}[^:=\d]{{0,80}}?{_IS}[\s(]*{HEDGE}{_A}?",  # "the rating I would give is"
        rf"{ANSWER_NOUN}\s*(?:of\s+)?{HEDGE}",  # "a score of"
        rf"{_I}\b(?:rat|giv|assign|scor|award|put|putt|plac|consider|judg|evaluat|grad)(?:e|ed|ing)?\b[^:\d]{{0,80}}?",
        r"^(?:giv|rat|scor)ing\b[^:\d]{0,60}",
        rf"{_I}\b(?:say|choose|pick|select|go with|going with|go for"
        r"|lean towards?|guess|estimate|think|am at|settle on)\b\s*"
        rf"(?:(?:that )?(?:it's|it is|this is|that's|at)\s+)?{_A}?{HEDGE}",
        rf"(?:^|[,:]|\b(?:is|it's|that's|be|deserves?|earns?|gets?|merits?|absolutely|easily|definitely|clearly))\s*{_A}",
        r"\b(?:deserves?|earns?|merits?)",
        rf"(?:我[^,\d]{{0,12}}?|(?:^|[,:])\s*(?:应该|可以|会|應該|會)?)(?:给|打|评|得|认为是|給|評|認為是)[^,\d]{{0,15}}?{HEDGE}",
        rf"^بنسبة\s*{HEDGE}",
        r"\b(?:ich (?:ver)?gebe|(?:ver)?gebe ich|ich bewerte|je (?:lui )?(?:donne|mets))\b[^:,.\d]{0,60}?",
        rf"\b(?:أعطي|أعطيه|أعطيها|أمنح|أمنحه|أقيم|أقدر|أضع|أختار)\b[^:\d]{{0,60}}?{HEDGE}",
    )
)
# What turns the number or the option after it, in its clause, into no answer.
DENIED = re.compile(
    _any(
        r"\b(?:not|never|cannot|neither|nor|hardly|barely|rather than|instead of|could|might|used to)\b|n't\b",
        r"\b(?:refuse|doubt|false|untrue|whether|wonder|nobody|no way|highest|lowest|maximum|minimum)\b",
        "最高|最低|满分|滿分|満点|만점",
        r"\b(?:her|his|their) (?:rating|score|grade|answer)|\b(?:scale|range)\b|\bأعلى|\bأدنى",
        r"\b(?:should|wish|tempted|wanted to|(?:it|this|that) would (?:be|have))\b",
        r"\b(?:some|others?|most|many|readers?|critics?|people|at first|initial\w*|first i|was going)\b",
        r"\b(?:less|more|fewer|greater|lower|higher|better|worse) than\s+(?:an?\s+)?$",
        r"\b(?:under|over|above|below|at least|at most|up to|almost|nearly|between|from)\s+(?:an?\s+)?$|[<>≥≤]\s*$",
        r"\b(?:nicht|kein\w*|weder|niemals|könnte\w*|würde\w*|wäre\w*|sollte\w*|höchstens|mindestens|manche|einige|skala"
        r"|pas|échelle|jamais|aucun\w*|ni|pourrait|serait|devrait|donnerais|au (?:plus|moins)|certains|d'autres)\b",
        r"不|没|沒|無法|无法|至少|至多|最多|低于|高于|超过|少于|多于|有人|别人|比\s*$",
        r"\b(?:لا|ليس|ليست|لن|لم|بين|البعض)\b|\b(?:أقل|أكثر|أعلى|أدنى) من\s*$|على الأقل",
    )
)
SUPPOSED = re.compile(  # or quoted; anywhere before in the sentence
    r"\b(?:if|unless|says|said|asks|asked|tells|told|claims|demands)\b|\bcontains\s+(?:(?:an?|the)\s+)?(?:rating|score|answer)"
    r"|\b(?:wenn|falls|ob|sofern|sagt\w*|behauptet|si|s'il|dit|prétend)\b"
    r"|如果|假如|\b(?:إذا|لو)\b"
)
WORSE = re.compile(r"\b(?:no|not|n't) better\b|\bworse\b|不更好|\bليس أفضل\b")  # what a chance may be said of instead
CONCLUDING = re.compile(
    r"\b(?:final|finally|overall|conclusion|conclude|therefore|thus|hence)\b|最终|综合|总体|所以|因此|النهائي"
)
REFERRING = re.compile(  # "chapter 2", "text 3"; not "this text 4"
    r"\b(?:chapter|part|point|section|step|paragraph|line|sentence|page|version|number|no\.|question|option|example|top"
    r"|criterion|system|writer|author|prompt|year|(?<!this )(?<!the )(?:text|story|title|item|output|image))\s*$|第\s*$"
)

_FULL_WIDTH = {chr(0xFF01 + place): chr(0x21 + place) for place in range(94)}
OF_SCRIPTS = str.maketrans(
    {
        **{key: f"{sign} " if sign in ",;:!?" else sign for key, sign in _FULL_WIDTH.items()},
        **{"٪": "%", "﹪": "%", "٫": ".", "٬": ",", "。": ". ", "、": ", ", "،": ", ", "؛": "; ", "؟": "? ", "’": "'"},
        **{"–": "-", "—": " - ", "−": "-", "→": ":"},
    }
)
_SENTENCE = re.compile(r"[.!?](?=\s)|[;\n]")
_CLAUSE = re.compile(r"[,:(]|\s-\s|\b(?:but|so|however|while)\b|但|\bلكن\b")
_LONGEST = 400  # characters of a sentence that are looked at


def sentence_of(text: str, end: int) -> str:
    """Return what stands before a place, from the beginning of its sentence."""
    before = text[max(0, end - _LONGEST) : end]
    return before[max((match.end() for match in _SENTENCE.finditer(before)), default=0) :].lstrip()


def clause_of(sentence: str) -> str:
    """Return the last clause of what stands before a place."""
    return sentence[max((match.end() for match in _CLAUSE.finditer(sentence)), default=0) :]
