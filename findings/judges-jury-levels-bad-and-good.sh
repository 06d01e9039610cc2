#!/usr/bin/env bash
# judges 0.1.1: on its scale of five words "bad" and "good" become False and True, and a jury takes both for the middle.
#
# Guess: score_type="likert" with the words that the documentation lists (terrible, bad, average, good, excellent) keeps
# them, and a Jury counts them as 1 to 5. Seen: a Judgment is checked field by field, the score before its type, as a
# yes-or-no score then: "good" is True and "bad" False. The jury knows neither for a word and gives 3, so that judges who
# all say "bad" and judges who all say "good" have one verdict; if all say "terrible" the verdict, 1.0, is read as True.
# Numbers from 1 to 5 arrive, but voting_method="average" rounds to whole ones, halves to the even one: 3 and 4 have the
# verdict of 4 and 5. Ask for numbers, and average verdict.judgments.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet judges==0.1.1 instructor==1.17.0 openai==3.3.0 pydantic==2.14.4
"$place/env/bin/python" -W ignore - <<'PYTHON'
from importlib.metadata import version

from judges.base import BaseJudge, Judgment, Jury

print("judges", version("judges"))


class Decided(BaseJudge):
    """A judge whose score is known beforehand, so that no model is asked."""

    def __init__(self, score: str | int, score_type: str) -> None:
        self.score, self.score_type = score, score_type

    def judge(self, input: str, output: str | None = None, expected: str | None = None) -> Judgment:
        return Judgment(reasoning="", score=self.score, score_type=self.score_type)


def verdict(scores: list, score_type: str) -> bool | int:
    jury = Jury([Decided(score, score_type) for score in scores], voting_method="average")
    return jury.vote(input="question", output="answer").score


words = ["terrible", "bad", "average", "good", "excellent"]
kept = [Judgment(reasoning="", score=word, score_type="likert").score for word in words]
agreed = [verdict([word, word, word], "likert") for word in words]
print("words:", words)
print("scores of one judge:", kept)
print("verdicts of three who agree:", agreed)
assert kept == ["terrible", False, "average", True, "excellent"], "words are kept now"
assert agreed == [True, 3, 3, 3, 5] and agreed[0] is True, "a jury tells bad from good now"
averages = [verdict(scores, "numerical") for scores in ([3, 4], [4, 5], [2, 3], [1, 2])]
print("averages of 3 and 4, 4 and 5, 2 and 3, 1 and 2:", averages)
assert averages == [4, 4, 2, 2], "averages are not rounded to even numbers now"
PYTHON
