"""Words in the place of numbers: what people write for no answer, and for the levels of a scale."""

from __future__ import annotations

import re
from collections.abc import Sequence

MISSING = r"(?i)^(nan|na|<na>|#?n/a|n\.a\.|none|null|-+|–|—|\.|\?)$"  # an answer that is none
SCALES = (  # words of scales, worst first; each level with its kin
    "very bad|very poor|terrible|awful; bad|poor; fair|average|neutral|acceptable|ok|okay|medium|moderate|mediocre"
    "|neither good nor bad|so-so; good; very good|excellent|great",
    "bad; poor; fair; good; excellent",
    "poor; fair; good; very good; excellent",
    "strongly disagree|disagree strongly|completely disagree; disagree|somewhat disagree|disagree somewhat"
    "; neutral|neither agree nor disagree|undecided; agree|somewhat agree|agree somewhat"
    "; strongly agree|agree strongly|completely agree",
    "not at all; slightly|a little|somewhat; moderately; very|considerably; extremely",
    "never; rarely|seldom; sometimes|occasionally; often|frequently; always",
    "very dissatisfied; dissatisfied; neutral; satisfied; very satisfied",
    "very unlikely; unlikely; neutral; likely; very likely",
    "very low; low; medium|moderate|neutral; high; very high",
    "sehr schlecht; schlecht; mittel|mittelmäßig|neutral|befriedigend; gut; sehr gut",
    "stimme gar nicht zu|stimme überhaupt nicht zu; stimme nicht zu|stimme eher nicht zu"
    "; teils/teils|neutral; stimme zu|stimme eher zu; stimme voll zu|stimme völlig zu|stimme voll und ganz zu",
    "très mauvais; mauvais; moyen|passable|neutre; bon; très bon|excellent",
    "pas du tout d'accord; pas d'accord|plutôt pas d'accord; neutre; d'accord|plutôt d'accord; tout à fait d'accord",
    "very annoying; annoying; slightly annoying; perceptible but not annoying|audible but not annoying"
    "; imperceptible|inaudible",
    "thumbs down|down|dislike|disliked|👎; thumbs up|up|like|liked|👍",
    "no; yes",
    "false; true",
    "no; partly|partially|in part; yes",
)
LEVELS = [{word.strip(): n for n, level in enumerate(one.split(";"), 1) for word in level.split("|")} for one in SCALES]

NO_ANSWER = frozenset(  # words in the place of a score that stand for none
    (
        *("skip", "skipped", "no answer", "not answered", "don't know", "dont know", "do not know", "can't tell"),
        *("cannot tell", "can't say", "cannot say", "not applicable", "not sure", "unsure", "no opinion", "refused"),
        *("prefer not to say", "keine antwort", "keine angabe", "k.a.", "weiß nicht", "weiss nicht", "sans réponse"),
    )
)
DRAWBACKS = frozenset(  # words of criteria of which there should be little
    "error errors mistake mistakes typo typos toxicity toxic hallucination hallucinations hallucinated bias biased "
    "harm harmfulness harmful offensiveness offensive redundancy redundant repetition repetitions repetitiveness "
    "repetitive contradiction contradictions inconsistency inconsistencies incoherence artifacts artefacts wer cer ter "
    "perplexity annoyance frustration workload effort difficulty latency fehler toxizität erreurs toxicité".split()
)
TOP = frozenset("best excellent perfect good great gut ausgezeichnet bon excellente parfait".split())
BOTTOM = frozenset("worst bad poor terrible awful schlecht mangelhaft mauvais".split())
LEAST = 1  # the lowest number of most scales
LOW_IS_GOOD = re.compile(r"\b(?:low|lower|less|fewer|small|smaller) (?:is|are|=) (?:better|good|best)\b|↓")
TURNED = frozenset("no non not free freedom lack absence without less anti avoidance detection handling un".split())


def sounds_bad(criterion: str) -> bool:
    """Whether a criterion is called after something of which there should be little, or says that low numbers are good.

    >>> [sounds_bad(name) for name in ("Number of errors", "toxicity", "grade (1 = best, 5 = worst)", "low is better")]
    [True, True, True, True]
    >>> [sounds_bad(name) for name in ("error-free", "harmlessness", "fluency (1 = bad, 5 = good)", "higher is better")]
    [False, False, False, False]
    """
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", criterion).casefold()
    ends = re.findall(r"(-?\d+)\s*(?:=|:|is|means|ist)\s*((?:(?:very|sehr)\s)?[^\W\d_]+)", plain)
    good = [int(number) for number, word in ends if word.split()[-1] in TOP]
    bad = [int(number) for number, word in ends if word.split()[-1] in BOTTOM]
    if good or bad:
        return (
            max(good) < min(bad)
            if good and bad
            else max(good, default=LEAST + 1) <= LEAST or min(bad, default=0) > LEAST
        )
    words = {*re.sub(r"[\W_\d]+", " ", plain).split()}
    return bool(LOW_IS_GOOD.search(plain)) or (bool(words & DRAWBACKS) and not words & TURNED)


def proposed_numbers(words: Sequence[str]) -> dict[str, str]:
    """Return the number that each word of a scale is likely to count; "?" where no known scale holds all of them.

    >>> proposed_numbers(["Good", "Very bad"]), proposed_numbers(["good", "green"])
    ({'Very bad': '1', 'Good': '4'}, {'good': '?', 'green': '?'})
    >>> proposed_numbers(["Bad", "Poor", "Fair"])  # the scale that tells most of them apart
    {'Bad': '1', 'Poor': '2', 'Fair': '3'}
    >>> proposed_numbers(["4 - Good", "1 - Bad"])
    {'1 - Bad': '1', '4 - Good': '4'}
    >>> proposed_numbers(["Good", "Skip", "Bad"])
    {'Bad': '2', 'Good': '4', 'Skip': 'missing'}
    """
    none = [word for word in words if " ".join(word.casefold().split()) in NO_ANSWER]
    if none:
        rest = [word for word in words if word not in none]
        return {**(proposed_numbers(rest) if rest else {}), **dict.fromkeys(sorted(none), "missing")}
    plain = {word: " ".join(word.casefold().replace("_", " ").split()) for word in words}
    numbers = {word: re.findall(r"(?<![\d.,])-?\d+(?:\.\d+)?(?![\d.,])", word) for word in words}
    if all(len(found) == 1 for found in numbers.values()):
        ranked = {word: found[0] for word, found in numbers.items()}
    else:
        known = [one for one in LEVELS if {*plain.values()} <= {*one}]
        scale = max(known, key=lambda one: len({one[word] for word in plain.values()}), default=None)
        if scale is None:
            return dict.fromkeys(sorted(words), "?")
        first = 0 if {"no", "false", "down"} & {*scale} else 1
        ranked = {word: str(scale[plain[word]] - 1 + first) for word in words}
    return dict(sorted(ranked.items(), key=lambda one: float(one[1])))
