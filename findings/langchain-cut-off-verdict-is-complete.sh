#!/usr/bin/env bash
# langchain-core 1.8.3: a judge's JSON verdict that was cut off is taken for a complete one, with whatever had come by then.
#
# Guess: JsonOutputParser and PydanticOutputParser raise an error for an answer that ends within its JSON, as models end
# at their limit of tokens: without partial=True the output is said to be the full object. Seen: what is open is closed,
# with or without partial. "score": 85 cut by one digit is 8, and a verdict that ends in its reason has no score, or,
# with the score first, the score and half a reason. Of 64 places at which a verdict of 65 characters may end early
# JsonOutputParser takes all, and PydanticOutputParser each that has something in every field. The message says
# finish_reason "length"; the chain hands it to the parser, which asks it for a refusal alone. json.loads raises each
# time. Look at finish_reason first.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet langchain-core==1.8.3 pydantic==2.14.4
"$place/env/bin/python" - <<'PYTHON'
import json
from importlib.metadata import version

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from pydantic import BaseModel

print("langchain-core", version("langchain-core"))


class Verdict(BaseModel):
    reason: str
    score: int


REASON = '"reason": "The second is clearer, and it is true."'
LAST, FIRST = '{%s, "score": 85}' % REASON, '{"score": 85, %s}' % REASON
PARSERS = {"JSON": JsonOutputParser(), "Pydantic": PydanticOutputParser(pydantic_object=Verdict)}


def read(parser, text: str) -> dict | None:
    """Return what a chain makes of a model's answer that ended at its limit of tokens, or None for an error."""
    message = AIMessage(text, response_metadata={"finish_reason": "length"})
    try:
        found = (GenericFakeChatModel(messages=iter([message])) | parser).invoke("Which is better?")
    except OutputParserException:
        return None
    return found if isinstance(found, dict) else found.model_dump()


counts = {}
for order, whole in {"score last": LAST, "score first": FIRST}.items():
    ends = range(1, len(whole))
    for end in ends:
        try:
            json.loads(whole[:end])
        except json.JSONDecodeError:
            continue
        raise AssertionError("this is complete")
    for name, parser in PARSERS.items():
        taken = {end: found for end in ends if (found := read(parser, whole[:end])) is not None}
        other = [end for end, found in taken.items() if found != json.loads(whole)]
        counts[order, name] = (len(taken), len(other))
        print(f"{order}, {name}: of {len(ends)} early ends {len(taken)} are taken, {len(other)} with another verdict")
        for end in other[-2:]:
            print(f"    ...{whole[:end][-14:]} -> {taken[end]}")
assert read(PARSERS["Pydantic"], LAST[:-2])["score"] == 8, "a cut-off score is read otherwise now"
expected = {"score last": {"JSON": (64, 63), "Pydantic": (2, 1)}, "score first": {"JSON": (64, 62), "Pydantic": (40, 38)}}
assert counts == {(order, name): both for order, of in expected.items() for name, both in of.items()}, "other ends now"
PYTHON
