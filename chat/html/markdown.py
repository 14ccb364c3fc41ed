"""Markdown to plain HTML, and where markdown that is still streaming can be cut into finished blocks.

Not rendered on purpose: HTML, but for a few tags; images, which would send data to their host without a click. The
marks of footnotes are raised, but lead nowhere: the notes are in another block. A link may be defined in another block:
``find_references`` reads the definitions of a whole text first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias

from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml, normalizeReference
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, reference
from markdown_it.token import Token

from chat.html import emphasis, marks, math, tags, unfinished
from chat.html.cost import is_heavy, is_too_dense
from chat.html.links import check_url
from chat.html.unfinished import HELD, TIP

MAX_NESTING = 20
MAX_EMPHASIS = 6
# A block with more is shown as plain text.
MAX_ELEMENTS = 10_000


class MarkdownParser(MarkdownIt):
    """Parses the Markdown that is rendered.

    Links are checked on its tokens, so that the words of a refused one stay, and in the form in which the model wrote
    them.
    """

    def __init__(self) -> None:
        super().__init__(
            "commonmark", {"html": False, "linkify": False, "typographer": False, "maxNesting": MAX_NESTING}
        )
        self.enable(["table", "strikethrough"])
        self.block.ruler.at("reference", match_definition)
        math.add_formulas(self)
        marks.add_marks(self)
        emphasis.add_cjk_emphasis(self)
        tags.add_tags(self)

    def validateLink(self, url: str) -> bool:
        return True

    def normalizeLink(self, url: str) -> str:
        return url

    def normalizeLinkText(self, link: str) -> str:
        return link


def match_definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Match the definition of a link that is used, or any while definitions are looked for. Others stay text."""
    used = state.env.get(_USED, ())
    found = _DEFINITION.match(state.src, state.bMarks[start])
    if found is None or not (used is None or normalizeReference(found[1]) in used):
        return False
    return reference(state, start, end, silent)


_PARSER, _PARSER_OF_UNFINISHED = MarkdownParser(), MarkdownParser()
unfinished.add_rules(_PARSER_OF_UNFINISHED)
TASK_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
_CONTAINERS = frozenset({"blockquote_open", "list_item_open", tags.DETAILS})  # their content is nested one level deeper
_EMPHASIS = frozenset({"em_open", "strong_open", "s_open", *(f"{tag}_open" for tag in tags.INLINE_TAGS)})
# An address without markup around it is linked, with letters of any script, up to a blank or other punctuation.
_OTHER_PUNCTUATION = (
    r"\x80-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\xd7\xf7\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u2000-\u206f"
    r"\u2190-\u2bff\u3000-\u3004\u3008-\u3020\u3030\u303d-\u303f\ud800-\udfff\ufdd0-\ufdef\ufe10-\ufe6f\uff00-\uff0f"
    r"\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\ufff0-\uffff\U0001f000-\U0001faff\U000e0000-\U0010ffff"
)
_ADDRESS_OR_NOTE = re.compile(
    r"(?P<url>(?:(?<![A-Za-z0-9])https?://|(?<![A-Za-z0-9_./@:-])www\.)"
    rf"(?:[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]|[^\x00-\x7f\s{_OTHER_PUNCTUATION}])++)(?!{TIP})"
    r"|\[\^(?P<note>[^\[\]\s^]{1,32})\]"
)
# A text without spaces may continue behind the name of a host.
_LATIN_HOST = re.compile(rf"((?:https?://|www\.)(?:[^/?#]*\.)?[A-Za-z0-9-]+)[{math.UNSPACED}]")
_NOTE_TEXT = re.compile(r"\[\^[^\[\]\s^]{1,32}\]:")
_DEFINITION = re.compile(r" {0,3}\[(?!\^)((?:[^\[\]\\]|\\.){1,200})\]:", re.DOTALL)
_DEFINITION_LINE = re.compile(r"^ {0,3}\[(?!\^)([^\[\]\n]{1,200})\]:", re.MULTILINE)
# Full, collapsed and short uses of a definition; a number alone is a citation mark.
_USE = re.compile(r"\]\[([^\[\]]{1,200})\]|\[([^\[\]]{1,200})\]\[\]|\[(?![0-9 ,;]+\])([^\[\]]{1,200})\](?![\[(:])")
_USED = "used"  # in the parser's environment: the names of definitions that are used; None for any
MAX_REFERENCES = 200
References: TypeAlias = tuple[tuple[str, str], ...]  # names of definitions and their addresses
_BUDGET = "budget"  # in the renderer's environment: how many characters or elements of formulas are still allowed


class TooDenseError(ValueError):
    """The text makes more markup, or nests deeper, than is rendered."""


class FormulaRenderer(RendererHTML):
    """Renders formulas as MathML, or as code where they can't be converted or exceed the budget."""

    def formula(self, tokens: Sequence[Token], idx: int, _options: object, env: dict[str, Any]) -> str:
        token = tokens[idx]
        if token.hidden:  # its end is to come
            return f"<p>{TIP}{HELD}</p>"
        mathml = None
        if env[_BUDGET] > 0:
            mathml = math.to_mathml(token.content, is_display=token.markup in math.DISPLAY_MARKS)
            env[_BUDGET] -= max(len(token.content), (mathml or "").count("</"))
        if mathml is not None:
            return mathml
        source = escapeHtml(math.source(token.content, token.markup))
        if token.type == math.INLINE:
            return f"<code>{source}</code>"
        return f'<pre><code class="language-TeX">{source}\n</code></pre>\n'

    formula_block = formula

    def citation_mark(self, tokens: Sequence[Token], idx: int, _options: object, _env: object) -> str:
        return marks.to_html(tokens[idx].content)


_RENDERER = FormulaRenderer(_PARSER)


def find_references(blocks: Iterable[str]) -> References:
    """Return the definitions of links that blocks of one text use."""
    blocks = list(blocks)
    env: dict[str, Any] = {_USED: None, "references": {}}
    for block in blocks:
        if _DEFINITION_LINE.search(block) and not (is_too_dense(block) or is_heavy(block)):
            _PARSER.block.parse(block, _PARSER, env, [])
    used = uses_in("".join(blocks)) if env["references"] else set()
    addresses = {name: check_url(defined["href"]) for name, defined in env["references"].items() if name in used}
    found = ((name, address.url) for name, address in addresses.items() if address and address.is_web)
    return tuple(islice(found, MAX_REFERENCES))


def references_of(block: str, references: References) -> References:
    """Return the definitions that a block of a text uses, or has."""
    if not references:
        return ()
    names = uses_in(block) | {normalizeReference(found[1]) for found in _DEFINITION_LINE.finditer(block)}
    return tuple(one for one in references if one[0] in names)


def uses_in(text: str) -> set[str]:
    """Return the names of definitions that a text may use."""
    return {normalizeReference(next(filter(None, use.groups()))) for use in _USE.finditer(text)}


def to_html(text: str, references: References = ()) -> str:
    """Return the HTML of one block of markdown; ``#`` becomes h3, images and refused links become text.

    A block that ends with ``TIP`` is still being written. ``references``: see ``references_of``.
    Raises TooDenseError for too much markup, or for nesting beyond which the parser would drop text.
    """
    tokens = parse(text, references)
    return _RENDERER.render(tokens, _PARSER.options, {_BUDGET: MAX_ELEMENTS - count_elements(tokens)})


def parse(text: str, references: References = ()) -> list[Token]:
    """Return the tokens that are rendered of one block. Raises TooDenseError."""
    # The parser drops text beyond its nesting, silently, so such a block is shown as plain text.
    if text.endswith(TIP):
        tokens = _PARSER_OF_UNFINISHED.parse(text, {math.OPEN_ENDED: True, math.END_MARK: TIP})
    else:
        defined = {name: {"href": href, "title": ""} for name, href in references}
        tokens = _PARSER.parse(text, {_USED: frozenset(defined), "references": defined})
    if any(token.type in _CONTAINERS and token.level >= MAX_NESTING - 1 for token in tokens):
        raise TooDenseError("nesting")
    for index, token in enumerate(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
        elif token.type in ("th_open", "td_open"):
            # No inline style: the page's policy refuses it.
            token.attrs = {"align": str(style).removeprefix("text-align:")} if (style := token.attrGet("style")) else {}
        elif token.children:
            token.children = restrict_inline(token.children, token.content)
            if tokens[index - 2].type == "list_item_open":  # its paragraph begins between them
                mark_task(token.children)
    if count_elements(tokens) > MAX_ELEMENTS:
        raise TooDenseError("markup")
    return tokens


def count_elements(tokens: Sequence[Token]) -> int:
    """Return how many elements the tokens render to."""
    return sum((token.nesting >= 0 and token.tag != "") + count_elements(token.children or ()) for token in tokens)


def restrict_inline(tokens: Sequence[Token], source: str) -> list[Token]:
    """Return inline tokens with images as text, without refused links and emphasis that nests too deep.

    Bare addresses are linked if they are in ``source``, their Markdown: ``may_contain_link`` sees no escaped ones.
    """
    out: list[Token] = []
    depth = 0
    links: list[tuple[str, int]] = []  # the address of a refused link, or nothing, and where its words begin
    for token in tokens:
        match token.type:
            case "image":
                out.append(Token("text", "", 0, content=describe_image(token)))
                continue
            case "text" if not links:
                if _NOTE_TEXT.match(token.content) and out and out[-1].type == "softbreak":
                    out[-1] = Token("hardbreak", "br", 0)
                out.extend(with_links(token.content, source))
                continue
            case marks.TYPE if any(not refused for refused, _at in links):
                out.append(Token("text", "", 0, content=token.content))
                continue
            case "link_open":
                href = str(token.attrGet("href"))
                stays = check_url(href) is not None
                links.append(("" if stays else href, len(out)))
            case "link_close":
                refused, at = links.pop()
                stays = not refused
                words = "".join(one.content for one in out[at:])
                if refused and refused not in words:
                    # A link never loses its address (product 42).
                    out.append(Token("text", "", 0, content=f" ({refused})"))
            case _:
                depth += token.type in _EMPHASIS
                stays = depth <= MAX_EMPHASIS or token.nesting == 0
                depth -= token.nesting == -1
        if stays:
            out.append(token)
    return out


def with_links(text: str, source: str) -> Iterator[Token]:
    """Yield a text with its bare addresses as links and its marks of footnotes raised."""
    end = 0
    for match in _ADDRESS_OR_NOTE.finditer(text):
        shown = bare_url(match["url"] or "")
        url = f"https://{shown}" if shown.startswith("www.") else shown
        if match["note"]:
            tag, shown = "sup", match["note"]
        elif shown in source and check_url(url):
            tag = "a"
        else:
            continue
        yield Token("text", "", 0, content=text[end : match.start()])
        yield Token(f"{tag}_open", tag, 1, attrs={"href": url} if url else {})
        yield Token("text", "", 0, content=shown)
        yield Token(f"{tag}_close", tag, -1)
        end = match.start() + len(shown) if url else match.end()
    yield Token("text", "", 0, content=text[end:])


def bare_url(text: str) -> str:
    """Return an address without the punctuation of the sentence around it, or the words behind its host."""
    if host := _LATIN_HOST.match(text):
        text = host[1]
    while text and (text[-1] in "?!.,:;*_~'" or (text[-1] == ")" and text.count(")") > text.count("("))):
        text = text[:-1]
    return text


def mark_task(tokens: Sequence[Token]) -> None:
    """Draw the ``[ ]`` or ``[x]`` that begins a list item as a box: no form control, nobody can tick it here."""
    if tokens and (first := tokens[0]).type == "text" and (box := TASK_BOXES.get(first.content[:4])):
        first.content = box + first.content[4:]


def describe_image(image: Token) -> str:
    """Return the words that are shown in place of an image: its text and its host."""
    children = [
        Token("text", "", 0, content=math.source(child.content, child.markup) if child.markup else child.content)
        if child.type in (math.INLINE, marks.TYPE)
        else child
        for child in image.children or ()
    ]
    alt = _RENDERER.renderInlineAsText(children, _PARSER.options, {}).strip()
    address = check_url(str(image.attrGet("src")))
    host = address.host if address else ""
    if alt and host:
        return gettext("[image: %(alt)s, %(host)s]") % {"alt": alt, "host": host}
    return gettext("[image: %(name)s]") % {"name": alt or host} if alt or host else gettext("[image]")


_LIST_ITEM = re.compile(r"[ \t]*(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t\n]|$)")
_BLANK = " \t\n"
MANY_BLOCKS = 2_000  # after so many, only blocks of LARGE_CHARS are cut
LARGE_CHARS = 4_096


class BlockSplitter:
    """Cuts markdown that arrives in pieces into blocks that won't change any more.

    A block is finished when a blank line ends it and another complete block and the growing one follow: what looks like
    a number may become a list item, and a list may continue after its blank line. A cut is made only where the parser,
    given all text before it, starts a new top-level block, so blocks rendered one by one read as the whole does.

    The cost is linear: a line is tried as a cut only if it follows a blank line, isn't indented and can't continue a
    list; then only an open fence or formula can swallow it. An open fence is remembered by its closing line, a formula
    ends within some lines, and from MANY_BLOCKS on small blocks are joined.

    What ``feed`` and ``finish`` return, joined, is the text with its line ends made LF.
    """

    def __init__(self) -> None:
        self._complete: list[str] = []  # followed by the growing block only
        self._lines: list[str] = []  # of the growing block
        self._rest: list[str] = []  # pieces of its last, unfinished line
        self._carriage_return = ""  # its line feed may follow
        self._follows_blank = self._has_list = self._has_text = False
        self._chars = self._cut_count = 0  # of the growing block; of blocks
        self._first_line = 0  # the line of the growing block from which the parser has to look
        self._fence_end: re.Pattern[str] | None = None  # matches the line that closes the open fence
        self._details_depth = 0  # of the open collapsed part

    @property
    def open_parts(self) -> tuple[str, str]:
        """A complete block, or nothing, and the block that grows. The cost is their length."""
        return "".join(self._complete), "".join(self._growing())

    def feed(self, text: str) -> tuple[str, ...]:
        """Add text; return the blocks that it finishes, oldest first."""
        text = self._carriage_return + text
        self._carriage_return = "\r" if text.endswith("\r") else ""
        first, *more = text.removesuffix(self._carriage_return).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest.append(first)
        for part in more:
            line = "".join(self._rest) + "\n"
            self._rest = [part]
            if self._may_cut(line) and not self._is_open():
                self._complete.append("".join(self._lines))
                self._lines, self._first_line, self._chars = [], 0, 0
                self._cut_count += 1
                self._has_list = self._has_text = False
            if self._details_depth:
                self._details_depth += tags.depth_change(line)
            elif self._fence_end is None:
                self._follows_blank = not line.strip(_BLANK)
                self._has_text |= not self._follows_blank
                self._has_list |= _LIST_ITEM.match(line) is not None
            elif self._fence_end.fullmatch(line):
                self._fence_end = None
            self._lines.append(line)
            self._chars += len(line)
        finished, self._complete = self._complete[:-1], self._complete[-1:]
        return tuple(finished)

    def finish(self) -> tuple[str, ...]:
        """Return the rest as blocks, and start anew."""
        last = "".join(self._growing())
        blocks = (*self._complete, *([last] if last else []))
        BlockSplitter.__init__(self)
        return blocks

    def _growing(self) -> list[str]:
        return [*self._lines, *self._rest, "\n" if self._carriage_return else ""]

    def _may_cut(self, line: str) -> bool:
        """Whether a new block may begin with this line, unless a fence or formula is open."""
        return (
            self._follows_blank
            and self._has_text
            and self._fence_end is None
            and not self._details_depth
            and (self._cut_count < MANY_BLOCKS or self._chars >= LARGE_CHARS)
            and line[0] not in _BLANK
            and not (self._has_list and _LIST_ITEM.match(line))
        )

    def _is_open(self) -> bool:
        """Whether a fence, formula or collapsed part is open after the lines so far; note what closes it.

        The parser gets a word after these lines: if the word starts no block, the last block contains it. A formula is
        one only if it is closed soon; until then it is asked about again, from its first line. Lines that are too dense
        to be rendered are cut.
        """
        lines = self._lines[self._first_line :]
        tokens: list[Token] = []
        if is_too_dense("".join(lines)):
            return False
        _PARSER.block.parse("".join([*lines, "x\n"]), _PARSER, {math.OPEN_ENDED: True}, tokens)
        start, token = [
            (token.map[0], token) for token in tokens if token.level == 0 and token.nesting >= 0 and token.map
        ][-1]
        if start == len(lines):
            return False
        self._first_line += start
        if token.type == tags.DETAILS:
            self._follows_blank = False
            self._details_depth = sum(map(tags.depth_change, lines[start:]))
        elif token.type != math.BLOCK:
            self._follows_blank = False
            self._fence_end = re.compile(rf" {{0,3}}{re.escape(token.markup[0])}{{{len(token.markup)},}}[ \t]*\n")
        return True


def split_blocks(text: str) -> tuple[str, ...]:
    """Cut a whole text into its blocks."""
    splitter = BlockSplitter()
    return (*splitter.feed(text), *splitter.finish())
