"""Markdown of outputs: what is shown, what is not, and where its words stand in the source."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.elicitation.word_diff import mark_differences
from spa.media import MEDIA, medium_of
from spa.media.formulas import MOST_CHARACTERS, formula
from spa.media.markdown_html import rendered
from spa.media.markup_signs import markup_of
from spa.records.form import Exhibit, Segment
from spa.records.rendered_text import in_text, placed_words

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases" / "media"


def html(source: str) -> str:
    return re.sub(r' dir="(?:ltr|rtl)"', "", rendered(source).html).replace("\n", "")


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("**a** *b* ~c~ ~~d~~", "<p><strong>a</strong> <em>b</em> <s>c</s> <s>d</s></p>"),
        ("one\ntwo", "<p>one<br>two</p>"),
        ("# T", '<h4 class="h1">T</h4>'),
        ("### T", '<h6 class="h3">T</h6>'),
        ("- [x] a\n- [ ] b", "<ul><li>☑ a</li><li>☐ b</li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("0. a\n1. b", '<ol start="0"><li>a</li><li>b</li></ol>'),
        ("1. a\n3. b\n4. c", '<ol><li>a</li><li value="3">b</li><li>c</li></ol>'),
        ("1. a\n1. b\n1. c", "<ol><li>a</li><li>b</li><li>c</li></ol>"),
        ("- x\n  1. a\n  2. b\n- y", "<ul><li>x<ol><li>a</li><li>b</li></ol></li><li>y</li></ul>"),
        ("2*3*4 and 5*x + 3*y", "<p>2*3*4 and 5*x + 3*y</p>"),
        ("x**2 + y**2, **1**st", "<p>x**2 + y**2, <strong>1</strong>st</p>"),
        ("5~10 km, ~3~5 h, 周一~周五 9点~17点", "<p>5~10 km, ~3~5 h, 周一~周五 9点~17点</p>"),
        ("A[^1] b.\n\n[^1]: https://b.example", "<p>A[^1] b.</p><p>[^1]: https://b.example</p>"),
        ("[Key] is\n\n[Key]: secret", "<p>[Key] is</p><p>[Key]: secret</p>"),
        ("x[i](j)", "<p>x[i](j)</p>"),
        ("$HOME/$USER, $a->b.$c", "<p>$HOME/$USER, $a-&gt;b.$c</p>"),
        ("$ x $; 5$ and 6$, 7$", "<p>$ x $; 5$ and 6$, 7$</p>"),
        ("a<br>\nb<BR/>c `<br>`", "<p>a<br>b<br>c <code>&lt;br&gt;</code></p>"),
        ("<br onload=1>", "<p>&lt;br onload=1&gt;</p>"),
        ("<b>a</b>", "<p>&lt;b&gt;a&lt;/b&gt;</p>"),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"),
        ("[a](https://b.example)", '<p><span class="link" title="https://b.example">a</span></p>'),
        ("![a *b*](https://b.example/c.png)", '<p><span class="picture">a b</span></p>'),
        ("[Answer]: 42", "<p>[Answer]: 42</p>"),
        ("[a]\n\n[a]: https://b.example", '<p><span class="link" title="https://b.example">a</span></p>'),
        ("**강조(하다)**는", "<p><strong>강조(하다)</strong>는</p>"),
        ("**“你好”**了", "<p><strong>“你好”</strong>了</p>"),
        ("`a<b`", "<p><code>a&lt;b</code></p>"),
        ("```\na\n```", "<pre><code>a</code></pre>"),
        ("```nosuchlanguage\na\n```", "<pre><code>a</code></pre>"),
        ("```python\nif a: 1\n```", '<pre><code><span class="k">if</span> a: <span class="m">1</span></code></pre>'),
        ("It costs $5 and $10.", "<p>It costs $5 and $10.</p>"),
        ("$5-$10, or 5$ to 10$", "<p>$5-$10, or 5$ to 10$</p>"),
        ("US$5/month or US$10/month$", "<p>US$5/month or US$10/month$</p>"),
        (r"\$x\$ and \\", r"<p>$x$ and \</p>"),
        (r"\(", "<p>(</p>"),
        ("# a\ndef f(x):\n    return __x__", "<pre><code># adef f(x):    return __x__</code></pre>"),
    ],
)
def test_markdown_is_shown_as_chats_do(source: str, shown: str) -> None:
    """HTML stays text, links are not followed, pictures not loaded, prices no formulas."""
    assert html(source) == shown


@pytest.mark.parametrize(
    "source",
    [
        "$x+y$",
        r"\(x+y\)",
        "$$x+y$$",
        r"\[x+y\]",
        "$$\nx\n+ y\n$$",
        "\\[\nx\n+ y\n\\]",
        "before\n\\[\nx\n+ y\n\\]\nafter",
        "- a\n  \\[\n  x\n  + y\n  \\]\n- b",
        "> \\[\n> x\n> + y\n> \\]",
        "1. a \\[ x + y \\] b",
        "| a |\n|---|\n| $x+y$ |",
        "**$x+y$**",
        "\\[ x\n\n+ y \\]",
    ],
)
def test_formulas_are_found_wherever_they_stand(source: str) -> None:
    """One formula with x, + and y, and no list or heading begins within it."""
    made = rendered(source)
    assert made.html.count("<math ") == 1
    assert "<mi>x</mi><mo>+</mo><mi>y</mi>" in made.html
    assert made.formulas == ()
    assert made.lost(source) == ()


def test_wide_tables_and_code_are_reached_and_named() -> None:
    """They scroll sideways on a phone, by the keyboard, too; what fits there is no stop on the way."""

    def table(cells: int, word: str = "a") -> str:
        head = " | ".join([word + '<"'] * cells)
        return f"| {head} |\n{'|---' * cells}|\n{'| b ' * cells}|"

    opening = '<div class="scrolls" tabindex="0" role="group" aria-label="{}"><table>'
    word = "word" * 9
    for source, name in (
        (table(2), None),
        (table(13), 10 * "a&lt;&quot; | " + "…"),
        (f"> {table(2, word).replace(chr(10), chr(10) + '> ')}", f"{word}&lt;&quot; | {word[:19]}…"),
    ):
        made = rendered(source)
        assert made.html.count("<table") == 1
        assert made.html.count("<div") == made.html.count("</div>") == made.html.count(opening.format(name))
        assert ("<div" in made.html) == (name is not None)
        assert made.lost(source) == ()
    code = rendered("```python\nx = 1\n```\n\n```python\n" + "x = 1; " * 9 + "\n```")
    assert code.html.count("<pre") == 2
    assert code.html.count(' tabindex="0" role="group" aria-label="python x = 1; ') == 1


def test_addresses_with_blanks_are_not_lost() -> None:
    source = 'See [a](<b c.html> "words") and [d].\n\n[d]: <e f.html>'
    assert rendered(source).lost(source) == ()


@pytest.mark.parametrize("before", ["", "> ", "- x\n  "])
def test_cells_beyond_a_header_are_shown(before: str) -> None:
    """Others drop them: a judge would see less than a model is sent."""
    inner = "\n" + (before if before == "> " else " " * (len(before) and 2))
    made = rendered(before + inner.join(("| a | b |", "|---|---|", "| 1 | `2|3` | 4 \\| 5 |", "| 6 |")))
    assert re.findall(r"<td[^>]*>(.*?)</td>", made.html) == ["1", "`2", "3`", "4 | 5", "6", ""]


def test_no_text_beside_a_formula_is_lost() -> None:
    source = "a \\[ x \\] b\n\nc \\[\ny\n\\] d $z$ e $$w$$ f"
    assert re.findall(r"\b[a-f]\b", rendered(source).text) == list("abcdef")


@pytest.mark.parametrize("source", ["```\n\\[\n- a\n```\n\\]", "`\\[` and\n- b \\]", "```\n$$\n```\n- c\n$$"])
def test_formulas_do_not_begin_in_code(source: str) -> None:
    assert "<math" not in rendered(source).html


@pytest.mark.parametrize(
    ("latex", "reason"),
    [
        (r"\unknown{x}", "not known: \\unknown"),
        (r"\cancel{x}", "not known: menclose"),
        (r"\mathbf{1}", "letters in bold"),
        (r"a & b", "not known: &"),
        ("50% of x", "percent sign"),
        (r"\text{50\% off}", "not known"),
        (r"\begin{aligned} x", "does not end"),
        (r"\end{aligned} x", "without beginning"),
        (r"\frac", "cannot be read"),
        ("x" * (MOST_CHARACTERS + 1), "longer than"),
        ("{" * 200 + "x" + "}" * 200, "nested too deep"),
    ],
)
def test_formulas_that_would_be_wrong_are_shown_as_source(latex: str, reason: str) -> None:
    found = formula(latex, display=True)
    assert found.reason is not None
    assert reason in found.reason
    assert found.html.startswith('<div class="formula" dir="ltr">')


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"\begin{aligned} a &= b \\ &= c \end{aligned}", 2),
        (r"\begin{gather*} a \\ b \\ c \end{gather*}", 3),
        (r"\begin{dcases} 1 & x > 0 \\ 0 & y \end{dcases}", 2),
        (r"\begin{alignedat}{2} a &= b & c &= d \end{alignedat}", 1),
        (r"a \\ b", 2),
    ],
)
def test_lines_of_formulas_are_rows(latex: str, shown: int) -> None:
    """Not one line with its marks of alignment."""
    found = formula(latex, display=True)
    assert found.reason is None
    assert found.html.count("<mtr>") == shown
    assert "&amp;" not in found.html


def test_a_long_output_is_rendered_once() -> None:
    """However many pages show it, and whatever asks for its words."""
    source = "A **long** output of $x$ that everybody reads.\n\n" * 1_300
    assert len(source) > 60_000
    exhibit = Exhibit(
        exhibit_id="e1", caption="A", label="A", item_id="1", medium="markdown", segments=(Segment(text=source),)
    )
    medium, before = medium_of("markdown"), rendered.cache_info()
    pages = {str(medium.shown(exhibit, lambda one: "")) for _ in range(3)}
    medium.reads(source)
    assert len(pages) == 1
    assert (rendered.cache_info().misses, rendered.cache_info().hits) == (before.misses + 1, before.hits + 3)


def test_a_box_is_drawn_and_limits_stand_below() -> None:
    assert '<mrow class="boxed">' in formula(r"\boxed{42}", display=False).html
    assert re.search("<munder><mo[^>]*>max</mo>", formula(r"\max_x f(x)", display=True).html)
    assert re.search("<msub><mo[^>]*>max</mo>", formula(r"\max_x f(x)", display=False).html)


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        ("x = -1", '<mo>=</mo><mo form="prefix">−</mo>'),
        ("x - 1", "<mi>x</mi><mo>−</mo>"),
        ("(x) - 1", ")</mo><mo>−</mo>"),
        (r"-b \pm c", '<mo form="prefix">−</mo><mi>b</mi><mo>±</mo>'),
        (r"x \sin y", '<mspace width="0.1667em"></mspace><mi>sin</mi><mspace width="0.1667em"></mspace>'),
        (r"\sin(y)", '<mi>sin</mi><mo stretchy="false">('),
        ("|x| < 1", 'form="postfix" lspace="0" rspace="0">|</mo><mo>&lt;'),
        ("A | B", '<mo stretchy="false" lspace="0.1667em"'),
        (r"\begin{vmatrix} 1 \end{vmatrix} = 2", 'form="postfix" lspace="0" rspace="0" fence="true" stretchy="true">|'),
        (r"\binom52", "<mn>5</mn></mrow><mrow><mn>2</mn>"),
        (r"\mathbb R", "<mi>ℝ</mi>"),
        (r"\bar x", '<mover accent="true">'),
    ],
)
def test_formulas_have_the_spaces_of_latex(latex: str, shown: str) -> None:
    """Signs of numbers, bars, and functions beside their arguments."""
    assert shown in formula(latex, display=True).html


def test_lines_end_once_after_a_formula_and_wide_ones_scroll() -> None:
    assert "<br>" not in rendered("\\[x\\]\nthen").html
    assert '<span class="wide"><math' in rendered("$" + "x + " * 20 + "x$").html
    assert '<span class="wide block"><math' in rendered("$$" + "x + " * 20 + "x$$").html  # Firefox scrolls no math


@pytest.mark.skipif(not CASES.is_dir(), reason="no cases of failed inputs beside the project")
def test_formulas_that_never_fail_are_right_or_source() -> None:
    for latex in (CASES / "formulas-that-never-fail" / "formulas.txt").read_text().splitlines():
        found = formula(latex, display=True)
        assert found.reason is not None or not re.search(r"menclose|mathvariant|<mi>(?:&|\\)", found.html), latex


def test_blocks_have_the_direction_of_their_letters() -> None:
    """Code and formulas run from the left."""
    made = rendered("ChatGPT كاتب آخر يكتب القصة في صباح.\n\nIn English.\n\n- كاتب `x = 1`\n\n```\nx\n```\n\n$y$")
    assert made.direction == "rtl"
    starts = re.findall(r'<(pre|p|li|code)\b(?: dir="(\w+)")?', made.html)
    assert starts == [
        ("p", "rtl"),
        ("p", "ltr"),
        ("li", "rtl"),
        ("code", "ltr"),
        ("pre", "ltr"),
        ("code", ""),
        ("p", ""),
    ]


WORDS = st.sampled_from(["alpha", "beta", "gamma", "你好", "كاتب", "5"])
INLINE = st.one_of(
    WORDS,
    WORDS.map("**{}**".format),
    WORDS.map("`{}`".format),
    WORDS.map("[{}](https://link.example)".format),
    WORDS.map("~{}~".format),
)
LINES = st.lists(INLINE, min_size=1, max_size=5).map(" ".join)
BLOCKS = st.one_of(
    LINES,
    LINES.map("# {}".format),
    LINES.map("- {}".format),
    LINES.map("> {}".format),
    LINES.map("1. {}".format),
    WORDS.map("```\n{}\n```".format),
    WORDS.map("\\[\n\\text{{{}}}\n\\]".format),
)
DOCUMENTS = st.lists(BLOCKS, max_size=6).map("\n\n".join)


@given(DOCUMENTS)
def test_every_word_of_a_document_is_shown(source: str) -> None:
    """The text is the text content of the HTML; words stand in the source where the map says."""
    made = rendered(source)
    assert made.lost(source) == ()
    for one in placed_words(source, made.text):
        assert source[one.source_start : one.source_end] == made.text[one.start : one.end]


@given(st.text(alphabet="ab *_`~$\\[]()!#>-+|:\n1.{}&<\"'"))
def test_any_text_is_rendered_and_nothing_lost(source: str) -> None:
    made = rendered(source)
    assert not made.lost(source)
    assert not re.search(
        r"<(?!/?(?:p|h[4-6]|ul|ol|li|pre|code|blockquote|hr|br|em|strong|s|span|div|table|thead|tbody|tr"
        r"|th|td|math|m[a-z]+)\b)",
        made.html,
    )


def test_words_are_found_in_the_source() -> None:
    source = "See **the big** [dog](https://big.example) run"
    text = rendered(source).text
    start = source.index("the big** [dog")
    found = in_text(source, text, start, start + len("the big** [dog"))
    assert found is not None
    assert text[slice(*found)] == "the big dog"
    assert in_text(source, text, source.index("https"), source.index(")")) is None


@pytest.mark.parametrize(
    ("source", "word"), [("the *경복궁*은 is", "경복궁은"), ("two `set`s here", "sets"), ("*un*comm**on**", "uncommon")]
)
def test_words_that_marks_part_are_found_in_the_source(source: str, word: str) -> None:
    """Each part stands where the map says."""
    text = rendered(source).text
    places = placed_words(source, text)
    assert all(source[one.source_start : one.source_end] == text[one.start : one.end] for one in places)
    found = in_text(source, text, 0, len(source))
    assert found is not None
    assert word in text[slice(*found)]
    assert "".join(text[one.start : one.end] for one in places) == "".join(text.split())


def test_marked_words_are_marked_across_elements() -> None:
    segments = (Segment(text="The "), Segment(text="**red** cat", marked=True), Segment(text=" sat"))
    exhibit = Exhibit(exhibit_id="e1", caption="A", label="A", item_id="1", medium="markdown", segments=segments)
    shown = medium_of("markdown").shown(exhibit, lambda one: "")
    assert "The <strong><mark>[red]</mark></strong><mark>[ cat]</mark> sat" in shown
    assert medium_of("markdown").said(exhibit) == "The [**red** cat] sat"


def test_differences_are_marked_in_what_is_shown() -> None:
    """Word by word, in bold, cells, code and formulas, and nowhere else; elements stay where they were."""
    source = "The **old** cat sat.\n\n| a | b |\n|---|---|\n| one | two |\n\n`x` and $y^2$"
    output = "The **new** cat sat.\n\n| a | c |\n|---|---|\n| six | two |\n\n`z` and $y^2$"
    _, segments = mark_differences(source, output)
    exhibit = Exhibit(exhibit_id="e1", caption="A", label="A", item_id="1", medium="markdown", segments=segments)
    shown = str(medium_of("markdown").shown(exhibit, lambda one: ""))
    assert re.findall(r"<mark>\[([^<]*)\]</mark>", shown) == ["new", "c", "six", "z"]
    assert re.sub(r"<mark>\[|\]</mark>", "", shown).count(rendered(output).html) == 1


def test_marks_stand_in_cells_and_not_between_them() -> None:
    whole = Segment(text="| a |\n|---|\n| b |", marked=True)
    exhibit = Exhibit(exhibit_id="e1", caption="A", label="A", item_id="1", medium="markdown", segments=(whole,))
    shown = str(medium_of("markdown").shown(exhibit, lambda one: ""))
    assert re.findall(r"<(\w+)[^>]*><mark>", shown) == ["th", "td"]
    assert shown.count("<mark>") == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Plain words, 2 * 3 and a_b.", None),
        ("# Title", "Markdown"),
        ("Some **bold** words", "Markdown"),
        ("- one\n- two", "Markdown"),
        ("a | b\n---|---\n1 | 2", "Markdown"),
        (r"The root \(x = 2\)", "formulas in LaTeX"),
        ("<p>One</p>", "HTML"),
        ("a < b and c > d", None),
        (json.dumps({"messages": [{"role": "user", "content": "Hi"}]}), "conversations in JSON"),
        (json.dumps([{"from": "human", "value": "Hi"}]), "conversations in JSON"),
        ('{"score": 4}', None),
        ('{"score": "**4**"}', None),
        ("# Add\nimport os\n\n- __file__", None),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n- one\n+ two", None),
        ("SELECT a -- `b`\nFROM `c`", None),
        ("/* **a** */\nint main() {", None),
        ("Select one from these:\n- a\n- b", "Markdown"),
        ("# Import\n\nIt is **5**;", "Markdown"),
        ("Here it is:\n```python\nimport os\n```", "Markdown"),
        ("It costs $5 and $10.", None),
        ("Solve $x^2 - 5x + 6 = 0$.", "formulas in LaTeX"),
        ("It costs $5 = 5 USD, or $10 with tax_free $", None),
        ("Set $HOME_A and $HOME_B, or $5^ and $6^", None),
    ],
)
def test_sources_are_known_by_their_signs(text: str, found: str | None) -> None:
    assert markup_of(text) == found


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>\nHm.\n</think>\nYes", "a model's reasoning"),
        ('<tool_call>{"name": "f"}</tool_call>', "a model's reasoning"),
        ("Yes.<|im_end|>", "a model's reasoning"),
        ("[INST] Say yes. [/INST] Yes.</s>", "a model's reasoning"),
        ("[PASS] Yes.", "a tool's verdict"),
        ("I think [so] <b>now</b> <s>not</s> and |x|", None),
    ],
)
def test_what_models_and_tools_left_is_said(text: str, left: str | None) -> None:
    """Of texts and of Markdown alike."""
    for key in ("text", "markdown"):
        said = [one.does for one in medium_of(key).doubts(text) if "which people would read" in one.does]
        said = [what for what in said if "HTML" not in what]
        assert [what.startswith(f"hold {left}") for what in said] == ([] if left is None else [True])


def test_every_medium_says_what_it_doubts() -> None:
    """What is not shown, and what is shown as it is written."""
    doubts = {
        one.key: [found.does for found in one.doubts("A **b** ![c](https://a.org/d.png) $\\cancel{x}$")]
        for one in MEDIA
        if not one.nested
    }
    assert doubts == {
        "text": ["hold Markdown, which people would read as it is written"],
        "markdown": [
            "have formulas that are shown as their source",
            "have pictures of which people see the words alone",
        ],
        "image": [],
        "audio": [],
        "video": [],
    }
