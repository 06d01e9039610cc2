"""Signs that a text is the source of something else, which people would see as it is written."""

from __future__ import annotations

import json
import re
from functools import lru_cache

_MARKDOWN = (
    re.compile(r"^#{1,6} \S", re.MULTILINE),
    re.compile(r"(?<![*\w])\*\*(?=\S)[^*\n]+\*\*(?!\*)"),
    re.compile(r"^(?:```|~~~)", re.MULTILINE),
    re.compile(r"^\|?[ :]*-{3,}[ :]*\|[-| :]*$", re.MULTILINE),
    re.compile(r"\[[^\[\]\n]+\]\(https?://[^)\s]+\)"),
    re.compile(r"(?<!`)`[^`\n]+`(?!`)"),
    re.compile(r"^[-*+] +\S.*\n+[-*+] +\S", re.MULTILINE),
)
_LATEX = re.compile(
    r"\\\[|\\\(|\$\$|\\(?:frac|sqrt|begin|text|mathbb|mathrm|boxed|cdot|times|le|ge)\b"
    r"|(?<![\\$\w])\$(?=\S)(?=[^$\n]*[\\^_=])[^$\n]+(?<=\S)\$(?![\w$])"
)
_HTML = re.compile(
    r"</(?:p|div|b|i|em|strong|span|a|ul|ol|li|table|tr|td|h[1-6]|code|pre)>|<(?:br|hr|img)\b[^<>]*>", re.I
)
_COMMENTS = re.compile(r"(?:\s|#(?!!|include\b|define\b)[^\n]*|//[^\n]*|--(?!-)[^\n]*|/\*.*?\*/)*", re.DOTALL)
_CODE = re.compile(  # a shell's first line, C's, a diff's, Python's, SQL's, XML's, one in braces
    r"#!/|#include [<\"]|#define \w|diff --git |@@ -\d|--- [^\n]+\n\+\+\+ "
    r"|(?:from [\w.]+ )?import [\w.*]+(?: as \w+)?(?:, *[\w.]+(?: as \w+)?)*;?[ \t]*$"
    r"|@[A-Za-z][\w.]*(?:\([^\n]*\))?[ \t]*$"
    r"|(?:async )?def \w+\([^`]*?:|class \w+(?:\([^\n]*\))?:[ \t]*(?:#.*)?$"
    r"|(?:SELECT|WITH|INSERT INTO|UPDATE|DELETE FROM|CREATE)\b(?s:.*?)\b(?:FROM|AS|VALUES|SET|TABLE|SELECT)\b"
    r"|<\?xml |<\?php|<!(?:DOCTYPE|doctype) |<html\b|(?:package|using|use) [\w.:]+;?[ \t]*$"
    r"|[A-Za-z_@$][^\n`]*(?:\w\(|\{|=>|[=)\]}'\"][^\n`]*;)[ \t]*(?://.*)?$",
    re.MULTILINE,
)
_OF_MODELS = re.compile(  # reasoning, calls of tools, and marks that part turns
    r"</?(?:think|thinking|reasoning|scratchpad|reflection|tool_calls?|tool_code|function_calls?|tool_response)>"
    r"|<\|[a-z_▁]{3,40}\|>|<｜[^<>｜\n]{2,40}｜>|</s>\s*\Z|\[/?INST\]|<(?:start|end)_of_turn>"
)
_VERDICT = re.compile(r"\s*\[(?:PASS|FAIL|ERROR)\] ?")  # promptfoo's, in its CSV files
CHAT_KEYS = ({"role", "content"}, {"from", "value"}, {"role", "parts"})

MARKDOWN, LATEX, HTML, CHAT = "Markdown", "formulas in LaTeX", "HTML", "conversations in JSON"
LEFT, VERDICT = "a model's reasoning, calls of tools or marks of turns", "a tool's verdict"

MOST_LOOKED_AT = 400  # characters of a text that tell whether it is code


@lru_cache(1024)  # an output stands on several pages, and on everybody's
def is_code(text: str) -> bool:
    r"""Return whether a text is a program, a query, a diff or JSON, by its first line that is no comment.

    Signs of markup in it are the program's own; a program within fences is Markdown.

    >>> is_code("# add\ndef add(a, b):\n    return a + b"), is_code("# Title\n\nIt adds."), is_code('{"a": "**b**"}')
    (True, False, True)
    """
    comments = _COMMENTS.match(text)
    begun = comments.end() if comments else 0
    return _CODE.match(text[begun : begun + MOST_LOOKED_AT]) is not None or _is_json(text)


def left_by_tools(text: str) -> str | None:
    """Return what a model or a tool left in a text beside what was to be written; ``None`` without such.

    >>> left_by_tools("<think>Hm.</think>Yes.") == left_by_tools("Yes.<|im_end|>") == LEFT, left_by_tools("[PASS] Yes")
    (True, "a tool's verdict")
    """
    if _VERDICT.match(text):
        return VERDICT
    return LEFT if _OF_MODELS.search(text) else None


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("[", "{"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def markup_of(text: str) -> str | None:
    """Return what a text is the source of; ``None`` where it shows no signs.

    >>> markup_of("It is **5**."), markup_of("It is 5 * 3."), markup_of('[{"role": "user", "content": "Hi"}]')
    ('Markdown', None, 'conversations in JSON')
    """
    if _is_chat(text):
        return CHAT
    if not is_code(text):
        if any(sign.search(text) for sign in _MARKDOWN):
            return MARKDOWN
        if _LATEX.search(text):
            return LATEX
    return HTML if _HTML.search(text) else None


def _is_chat(text: str) -> bool:
    start = text.lstrip()[:1]
    if start not in ("[", "{") or '"' not in text[:200]:
        return False
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return False
    turns = read.get("messages") or read.get("conversations") if isinstance(read, dict) else read
    return (
        isinstance(turns, list)
        and bool(turns)
        and all(isinstance(turn, dict) and any(keys <= set(turn) for keys in CHAT_KEYS) for turn in turns)
    )
