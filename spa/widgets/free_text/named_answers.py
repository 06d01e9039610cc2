"""Options and orders that a text gives as its answer by their names.

"I prefer System A", "System B is better"; "System B > System A = System C", or a numbered list, best first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from spa.records.form import AnswerOption
from spa.widgets.free_text.phrases import DENIED, SUPPOSED, clause_of, sentence_of

BEFORE = re.compile(  # what stands before an option that is chosen
    r"(?:\b(?:answer|choice|winner|verdict|preference|pick|better|best)\b(?: text| one| output)?"
    r"(?: is| would be|:|=)*\s*"
    r"(?:the one )?(?:by |from )?(?:the )?"
    r"|\b(?:i|we)\b[^:]{0,25}\b(?:choose|pick|prefer|select|favou?r|vote for|go with|go for)\s+"
    r"(?:the (?:text|one) (?:by|of|from) )?"
    r"|\b(?:antwort|urteil|gewinner|entscheidung|réponse|gagnant|choix)\b(?: (?:ist|lautet|est))?\s*[:=]\s*"
    r"|\b(?:ich (?:wähle|bevorzuge|nehme)|je (?:choisis|préfère|prends))\s+(?:(?:den|die|das|le|la) )?(?:text(?:e)? )?"
    r"|(?:选择?|更喜欢|倾向于?|更好的是|答案(?:是|为)?)[:\s]*|(?:أختار|أفضل|الإجابة(?: هي)?|الأفضل هو)[:\s]*)$"
)
ALONE = re.compile(  # before an option that is all of its sentence, or is followed by a reason
    r"^(?:(?:i (?:think|believe|feel|would say|'d say)|i'd say|in my (?:view|opinion)|definitely|clearly|i"
    r"|it(?:'s| is) an?|(?:the )?text (?:by|from|of)|我认为|我觉得|أعتقد أنه?)(?: that)?,?\s*)?$"
)
AFTER = r"(?=\s*(?:$|[.,:;!)(](?!\d)|-\s|'s\b)|\s+(?:over|because|since|as|for|than|rather|with)\b)"
WINS = (
    r"\s*(?:(?:would be my (?:choice|pick)"
    r"|(?:is|was)\s+(?:(?:clearly|much|slightly|somewhat|definitely|a bit|far)\s+)?(?:the )?"
    r"(?:better|best|stronger|superior|preferable|winner)(?: one| text)?|wins)"
    r"(?=\s*(?:$|[.,:;!)(-])|\s+(?:than|to|because|since|as|for|overall|in|at|by|with|and|but|while)\b)"
    r"|(?:ist|war)\s+(?:(?:klar|deutlich|eindeutig|etwas|viel)\s+)?(?:besser|(?:der|die|das) bessere|am besten)"
    r"(?=\s*(?:$|[.,:;!)(-])|\s+(?:als|weil|da|und|in|bei)\b)|gewinnt(?=\s*(?:$|[.,:;!)(-]))"
    r"|(?:est|était)\s+(?:(?:nettement|clairement|légèrement|bien)\s+)?(?:(?:le|la) )?meilleure?"
    r"(?=\s*(?:$|[.,:;!)(-])|\s+(?:que|car|parce|et|en|dans)\b)|gagne(?=\s*(?:$|[.,:;!)(-]))"
    r"|(?:比[^,.;]{1,20}?)?(?:明显|略|显然|写得|做得)*(?:更好|更佳|最好|胜出)(?!的)|(?:هو )?(?:الأفضل|أفضل)\b)"
)

ASKED = re.compile(r"[^.!;\n]*\?")
AFTER_ENTRY = r"(?=\s*(?:$|[.,:;!(–—-]))"  # what may come after a list's entry: its end, or the mark before a reason


def chosen_options(
    options: Sequence[AnswerOption], text: str, plain: Callable[[str], str]
) -> tuple[list[str], list[str]]:
    """Return the values of the options that a text gives as its answer, and of all that it names, in the form's order.

    The text is in small letters, without decoration; ``plain`` writes an option's name like it.
    """
    names = {plain(option.text): option.value for option in options}
    names |= {plain(option.value): option.value for option in options}
    names |= {option.label.casefold(): option.value for option in options if option.label}  # "A" for "System A"
    words = _any_of(names)
    found, named = set(), set()
    wins, after = re.compile(WINS, re.MULTILINE), re.compile(AFTER, re.MULTILINE)
    also = re.compile(rf",?\s*(?:and|or|和|或|و|أو)?\s*(?:{words})(?![a-z0-9])")  # one of several that are listed
    for match in re.finditer(rf"(?<![a-z0-9])({words})(?![a-z0-9])", text):
        value = names[" ".join(match[1].split())]
        if len(match[1]) > 1:
            named.add(value)
        sentence = sentence_of(text, match.start())
        won = wins.match(text, match.end())
        rest = text[won.end() if won else match.end() :]
        if also.match(rest) or ASKED.match(rest) or DENIED.search(clause_of(sentence)) or SUPPOSED.search(sentence):
            continue
        if won or (after.match(text, match.end()) and (BEFORE.search(sentence) or ALONE.search(sentence))):
            found.add(value)
    values = [option.value for option in options]
    return [value for value in values if value in found], [value for value in values if value in named]


def stated_orders(options: Sequence[AnswerOption], text: str, plain: Callable[[str], str]) -> Iterator[str]:
    """Yield the orders of options that a text states, as ``"A > B = C"``; they may lack some, or name some twice.

    ``plain`` writes the text and the options' names alike; what is denied or supposed is left out.
    """
    names = {plain(name): option.value for option in options for name in (option.text, option.value)}
    text = plain(text)
    name = rf"(?<![a-z0-9])(?:{_any_of(names)})(?![a-z0-9])"
    text = re.sub(r"[*_`\"“”]", "", text)
    for match in re.finditer(rf"{name}(?:\s*[>=]\s*{name})+(?!\s*[>=])", text):
        sentence = sentence_of(text, match.start())
        before = text[: match.start()].rstrip()
        if not (DENIED.search(clause_of(sentence)) or SUPPOSED.search(sentence) or before.endswith((">", "="))):
            yield re.sub(name, lambda found: names[" ".join(found[0].split())], match[0])
    entries = re.findall(rf"^\s*(\d{{1,2}})[.)]\s+({name}){AFTER_ENTRY}", text, re.MULTILINE)
    if [number for number, _ in entries] == [str(place) for place in range(1, len(entries) + 1)] and entries:
        yield " > ".join(names[" ".join(entry.split())] for _, entry in entries)


def _any_of(names: Iterable[str]) -> str:
    """Return a pattern for any of some names, the longest that fits."""
    longest_first = sorted(names, key=len, reverse=True)
    return "|".join(r"\s+".join(map(re.escape, name.split())) for name in longest_first)
