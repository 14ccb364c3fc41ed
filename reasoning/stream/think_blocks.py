"""Sort the text and tags of one field into answer, thoughts and scratchpads. Normaliser 1, 4 to 7, 9; product 33 to 39.

What a token does in each state, outside code:

                     answer               thought (closers)           REASONING (depth)
    text             answer               thought                     held
    its own opener   begins a thought     text (a repeated one of     one deeper
                     or REASONING         a template: removed)
    its own closer   stray: removed       ends it                     one less deep; at 0 it ends
    another closer   stray: removed       perhaps its end: held       held
    void, wrap       removed              removed, text               removed, held
    leftover         held: removed if     text                        held
                     nothing follows
    end of stream    -                    stays a thought, or what    its last closer ended it; without
                                          was held is the answer      one its text is the answer

A scratchpad can lie over each state: its opener counts everywhere, its closer returns to the state below. One that a
message left open may end in the next: until its closer comes, what may belong to it is held.
In apparent code a tag waits until the code closes (then it is text) or breaks (then it counts).

While a rule can still go either way, tokens are buffered. When the question is settled, the buffer is emitted or parsed
again from its first token. What was learnt on the way (a closer that never came) is remembered for that second time, so
each token is parsed a bounded number of times, however many openers a text has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from reasoning.delimiters.tags import Tag, Token, is_scratchpad, raw_text, without_scratchpads
from reasoning.services.thinking_formats import ROLES, THINK_TAGS, TURN_MARKS
from reasoning.stream.code_spans import CodeEnd, CodePosition, CodeTracker
from reasoning.stream.output import ContentOutput, is_blank

THINK_NAMES = frozenset({*THINK_TAGS, "format"})
BLOCK_NAMES = THINK_NAMES | {"reasoning"}
_MAX_HEAD_CHARS = 80
MAX_OPEN_CHARS = 1_000
STRIKE_CLOSER = "</s>"
_BARE_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[ \t\r]*\n\s*")
_FENCE_CHARS = " \t\r\n`~"


@dataclass(slots=True)
class TextState:
    """Outside any block: text of the answer, or of a native field."""

    code: CodeTracker = field(default_factory=CodeTracker)
    head: str = ""  # how the message begins


@dataclass(slots=True)
class ThinkState:
    """In a thought that one of ``closers`` ends.

    ``buffer`` is None while everything is surely a thought; else it holds the tokens from the first doubtful one on.
    Once native text has come, everything from the opener on is held, because the opener may be a stray. ``emitted``
    holds what was shown of a thought that the template opened, in case native text comes.
    """

    closers: frozenset[str]
    is_prefilled: bool = False  # the chat template wrote the opener; one repeated opener is dropped
    emitted: list[Token] = field(default_factory=list)
    is_empty: bool = True  # nothing but blanks so far
    buffer: list[Token] | None = None
    closer_at: int | None = None  # in the buffer: what ended the thought, if its own closer doesn't follow
    closer_is_in_code: bool = False
    doubtful_opener: str = ""  # it is text if no closer follows
    is_doubted: bool = False  # native text came behind text of it: only a closer that comes next can end it
    code: CodeTracker = field(default_factory=CodeTracker)


@dataclass(slots=True)
class ReasoningState:
    """In a REASONING block, buffered until its first opener is balanced."""

    tokens: list[Token] = field(default_factory=list)
    depth: int = 1
    last_closer_at: int | None = None
    doubtful_opener: str = ""  # it is text if no closer follows
    code: CodeTracker = field(default_factory=CodeTracker)


@dataclass(slots=True)
class PendingTag:
    """A tag inside apparent code and what follows it, until the code closes or breaks."""

    tokens: list[Token]
    position: CodePosition  # before the tag
    begins_message: bool  # in a fence without language, before any other text


@dataclass(slots=True)
class OpenScratchpad:
    """A scratchpad whose end didn't come yet. It can lie over any state."""

    has_heading: bool  # in place of a tag
    pieces: list[str] = field(default_factory=list)
    beginning: str = ""  # as much as is ever shown of it while it is open

    def add(self, text: str) -> None:
        self.pieces.append(text)
        if len(self.beginning) < MAX_OPEN_CHARS:
            self.beginning = (self.beginning + text)[:MAX_OPEN_CHARS]


class ThinkTagParser:
    """Feed it the tokens of one field of one response.

    ``starts_in_reasoning`` comes from the model profile: the chat template wrote the opener already. In a native field
    everything is thinking, and delimiters are removed. ``may_end_scratchpad``: the field left one open before, so all
    that comes is held until a closer shows that it belongs to that one; without a closer it is text.
    """

    def __init__(
        self,
        output: ContentOutput,
        *,
        starts_in_reasoning: bool = False,
        is_native: bool = False,
        may_end_scratchpad: bool = False,
    ) -> None:
        self._output = output
        self._response = output.response
        self._is_native = is_native
        self._text = TextState()
        self._state: TextState | ThinkState | ReasoningState = self._text
        if starts_in_reasoning:
            self._state = ThinkState(THINK_NAMES, is_prefilled=True)
        self.scratchpad: OpenScratchpad | None = None
        self.leaves_scratchpad_open = False  # at the end; a heading's scratchpad has no closer
        self._perhaps_notes: list[Token] | None = [] if may_end_scratchpad else None
        self._pending: PendingTag | None = None
        self._never_closed: frozenset[str] = frozenset()  # names whose closer is known not to come
        self._is_after_removal = False
        self._leftovers: list[Token] = []  # and what may belong to them, until more text comes
        self._last_mark = self._role = ""  # of the leftovers, and what is behind it
        self._is_wrapped = False  # the answer began with the mark of its family for that
        self._has_strike = False  # an opener of struck text came: its closer is no leftover
        self._continued = ""  # the last character of the text that is continued, until more of it comes

    def continue_text(self, before: str) -> None:
        """Parse as if ``before`` was parsed already, outside thoughts."""
        self._continued = before[-1:]
        self._text.code.feed(before)
        self._output.continue_text(before)

    def feed(self, token: Token) -> None:
        """Sort one token. What is open decides first: a scratchpad, a tag in doubt, a mark that may end the answer."""
        if isinstance(token, Tag):
            self._is_after_removal = True
            if token.name == "section" and not (self.scratchpad and self.scratchpad.has_heading):
                token = token.raw
        if self._perhaps_notes is not None:
            self._feed_perhaps_notes(token, self._perhaps_notes)
        elif self.scratchpad is not None:
            self._feed_scratchpad(token, self.scratchpad)
        elif self._pending is not None:
            self._feed_pending(token, self._pending)
        elif self._leftovers:
            self._feed_behind_leftover(token)
        elif isinstance(token, Tag):
            self._feed_tag(token)
        else:
            self._feed_text(token)

    def _feed_perhaps_notes(self, token: Token, held: list[Token]) -> None:
        if is_scratchpad(token, "close"):
            self._perhaps_notes = None
            self._response.stripped_delimiters += 1
            self._response.count_hold(held)
            self._response.add_scratchpad(raw_text(held))
            return
        held.append(token)
        if is_scratchpad(token, "open"):
            self._perhaps_notes = None
            self._parse_again(held)

    def _feed_scratchpad(self, token: Token, scratchpad: OpenScratchpad) -> None:
        if is_scratchpad(token, "close"):
            self._response.stripped_delimiters += 1
            self._end_scratchpad(scratchpad)
        elif isinstance(token, str):
            scratchpad.add(token)
        elif scratchpad.has_heading and (token.name == "section" or self._ends_block(token)):
            self._end_scratchpad(scratchpad)
            self.feed(token)
        else:
            scratchpad.add(token.raw)

    def _feed_tag(self, tag: Tag) -> None:
        # Whether the code closes isn't known yet. The tag waits, for text that was shown can't be hidden again.
        if self._continued and tag.kind == "open" and tag.name in BLOCK_NAMES and self._state is self._text:
            # A response that continues code may begin with a thought of its own, or with a tag of the code.
            in_code = self._text.code.is_inside(is_opener=True)
            self._feed_block_tag(replace(tag, is_doubtful=tag.is_doubtful or in_code))
        elif self._may_be_literal(tag) and self._state.code.is_inside(is_opener=tag.kind == "open"):
            begins_message = self._state is self._text and _BARE_FENCE.fullmatch(self._text.head) is not None
            self._pending = PendingTag([tag], self._state.code.snapshot(), begins_message)
            self._state.code.watch_tag(is_opener=False)
        elif tag.kind == "leftover":
            self._feed_leftover(tag)
        elif tag.name == "wrap":
            self._feed_wrap(tag)
        elif tag.kind == "void" or is_scratchpad(tag, "close"):
            self._response.stripped_delimiters += 1
        elif is_scratchpad(tag, "open"):
            self._response.stripped_delimiters += 1
            self.scratchpad = OpenScratchpad(tag.is_heading)
        else:
            self._feed_block_tag(tag)

    def _feed_behind_leftover(self, token: Token) -> None:
        if isinstance(token, Tag) and token.kind == "leftover":
            self._hold_leftover(token)
            return
        if isinstance(token, str) and self._may_be_role(token):
            self._leftovers.append(token)
            return
        leftovers, self._leftovers = self._leftovers, []
        self._feed_text(raw_text(leftovers))
        self.feed(token)

    def _may_be_role(self, text: str) -> bool:
        """Say whether text behind a mark is blank, or the beginning of the role whose turn the mark begins."""
        behind = (self._role + text).lstrip()
        word = behind.rstrip()
        self._role = word if word == behind else f"{word} "  # one blank says that the word has ended
        return not word or (self._last_mark in TURN_MARKS and any(role.startswith(word) for role in ROLES))

    def _feed_text(self, text: str) -> None:
        if self._continued and self._state is self._text:
            # A fence begins a line, as ContinuedText has it. Blanks may precede a thought.
            if text[0] in "`~" and self._continued not in " \n":
                self._text.code.feed("\n")
            self._continued = text[-1] if text.isspace() else ""
        self._state.code.feed(text)
        self._emit(text)

    def _feed_leftover(self, mark: Tag) -> None:
        """Hold back a mark that counts at the end of the answer alone; elsewhere it is text. Product 39."""
        is_of_strike = mark.raw == STRIKE_CLOSER and self._has_strike
        if self._state is self._text and not self._is_native and not is_of_strike:
            self._hold_leftover(mark)
        else:
            self._feed_text(mark.raw)

    def _hold_leftover(self, mark: Tag) -> None:
        self._leftovers.append(mark)
        self._last_mark, self._role = mark.raw, ""

    def _feed_wrap(self, mark: Tag) -> None:
        """Remove the marks around an answer: the first where it begins, the last if that came. Product 33."""
        begins = mark.kind == "open" and not self._text.head.strip()
        if self._state is self._text and (begins or (mark.kind == "close" and self._is_wrapped)):
            self._is_wrapped = begins
            self._response.stripped_delimiters += 1
        else:
            self._feed_text(mark.raw)

    def doubt_hint(self) -> None:
        """Native text came: any opener may be a stray, that of the chat template included. Normaliser 5, 8."""
        state = self._state
        if isinstance(state, ThinkState) and state.is_prefilled:
            # The profile may be wrong: where no closer follows, what looked like a thought is the answer.
            state.buffer = [*state.emitted, *(state.buffer or ())]
            if state.closer_at is not None:
                state.closer_at += len(state.emitted)
            state.is_doubted = bool(state.emitted) and not state.is_empty and state.closer_at is None
            state.emitted.clear()

    def settle(self, *, is_final: bool) -> None:
        """Resolve what is open: at the end of the stream all, at a tool call thoughts and code. Normaliser 5, 11."""
        if is_final and self._perhaps_notes is not None:
            held, self._perhaps_notes = self._perhaps_notes, None
            self.leaves_scratchpad_open = is_blank(raw_text(held))
            self._response.count_hold(held)
            self._parse_again(held)
        while True:
            state = self._state
            if self._pending is not None:
                end = state.code.finish() if is_final else "broken"
                self._resolve_pending(self._pending, end)
            elif isinstance(state, ThinkState):
                self._settle_thought(state, is_final=is_final)
            elif isinstance(state, ReasoningState) and is_final:
                self._settle_reasoning(state)
            else:
                break
        if is_final and self.scratchpad:
            self.leaves_scratchpad_open = not self.scratchpad.has_heading
            self._end_scratchpad(self.scratchpad)
        if is_final and self._leftovers and self._role.strip() not in ("", *ROLES):
            leftovers, self._leftovers = self._leftovers, []
            self._feed_text(raw_text(leftovers))
        if is_final and self._leftovers:
            self._response.stripped_delimiters += sum(isinstance(token, Tag) for token in self._leftovers)
            self._leftovers.clear()
        # Behind a tool call closers may come again.
        self._never_closed = frozenset()

    def _emit(self, token: Token) -> None:
        """Add text, or a tag that counts as text here, to what is open."""
        text = token.raw if isinstance(token, Tag) else token
        match self._state:
            case TextState() as state:
                if len(state.head) <= _MAX_HEAD_CHARS:
                    state.head += text
                if "<s>" in text:
                    self._has_strike = True
                self._output.visible(text, is_after_removal=self._is_after_removal)
                self._is_after_removal = False
            case ReasoningState() as block:
                block.tokens.append(token)
            case ThinkState() as thought:
                thought.is_empty = thought.is_empty and is_blank(text)
                if thought.buffer is None:
                    self._output.thought(text)
                    if thought.is_prefilled:
                        thought.emitted.append(token)
                else:
                    thought.buffer.append(token)
                if thought.is_doubted and not is_blank(text):
                    # The text continues behind native text, so the profile was wrong: all of it is the answer.
                    self._state = self._text
                    self._output.end_thought()
                    self._parse_again(thought.buffer or ())

    def _end_scratchpad(self, scratchpad: OpenScratchpad) -> None:
        self.scratchpad = None
        self._response.add_scratchpad("".join(scratchpad.pieces))

    def _feed_block_tag(self, tag: Tag) -> None:
        match self._state:
            case TextState():
                self._response.stripped_delimiters += 1
                if tag.kind == "open" and not self._is_native:
                    self._open(tag)
                elif tag.kind == "close":
                    self._response.has_open_thought = False
            case ThinkState() as thought:
                self._feed_tag_in_thought(tag, thought)
            case ReasoningState() as block:
                if tag.name == "reasoning":
                    block.depth += 1 if tag.kind == "open" else -1
                    if block.depth == 0:
                        self._response.stripped_delimiters += 1
                        self._end_reasoning(block, block.tokens)
                        return
                    if tag.kind == "close":
                        block.last_closer_at = len(block.tokens)
                block.tokens.append(tag)

    def _open(self, opener: Tag) -> None:
        name, is_doubtful = opener.name, opener.is_doubtful
        doubtful_opener = opener.raw if is_doubtful else ""
        if name == "reasoning":
            is_closed = name not in self._never_closed
            self._state = ReasoningState(doubtful_opener=doubtful_opener) if is_closed else self._text
        elif not (self._response.native_field and self._never_closed >= THINK_NAMES):
            buffer: list[Token] | None = [] if self._response.native_field or is_doubtful else None
            self._state = ThinkState(frozenset({name}), buffer=buffer, doubtful_opener=doubtful_opener)

    def _feed_tag_in_thought(self, tag: Tag, thought: ThinkState) -> None:
        if tag.name not in THINK_NAMES:
            self._emit(tag)
        elif tag.kind == "open":
            if thought.is_prefilled and thought.is_empty:
                thought.closers, thought.is_prefilled, thought.is_empty = frozenset({tag.name}), False, False
                thought.emitted.clear()
                self._response.stripped_delimiters += 1
            else:
                self._emit(tag)
        elif tag.name in thought.closers or thought.closers <= self._never_closed:
            self._state = self._text
            self._response.stripped_delimiters += 1
            self._response.has_open_thought = False
            if thought.buffer:
                self._response.count_hold(thought.buffer)
                self._output.thought(raw_text(thought.buffer))
            self._output.end_thought()
        else:
            # The other name's closer: whether it ended the thought depends on whether the right one follows.
            self._note_closer(thought, is_in_code=False)
            self._emit(tag)

    def _note_closer(self, thought: ThinkState, *, is_in_code: bool) -> None:
        """Remember that the token that comes next may have ended the thought. Of those in code the last counts."""
        if thought.buffer is None:
            thought.buffer = []
        if thought.closer_at is None or thought.closer_is_in_code:
            thought.closer_at, thought.closer_is_in_code = len(thought.buffer), is_in_code

    def _end_reasoning(self, block: ReasoningState, body: Iterable[Token]) -> None:
        self._state = self._text
        self._response.count_hold(block.tokens)
        self._output.thought(raw_text(body))
        self._output.end_thought()

    def _may_be_literal(self, tag: Tag) -> bool:
        """In the answer any tag can be a literal, in a thought its closers, anywhere a scratchpad's opener."""
        is_answer = self._state is self._text and not self._is_native
        is_closer = isinstance(self._state, ThinkState) and is_think_closer(tag)
        return is_answer or is_closer or is_scratchpad(tag, "open")

    def _feed_pending(self, token: Token, pending: PendingTag) -> None:
        code = self._state.code
        rest = token
        if isinstance(token, Tag):
            end = code.watch_tag(is_opener=token.kind == "open")
            # A scratchpad's opener is no literal where its code may reach beyond the block.
            if is_scratchpad(pending.tokens[0], "open") and self._ends_block(token):
                end = end or "broken"
            if end is None:
                pending.tokens.append(token)
        else:
            offset, end = code.watch(token)
            pending.tokens += [token[:offset]] if offset else []
            rest = token[offset:]
        if end is not None:
            self._resolve_pending(pending, end)
            if rest:
                self.feed(rest)

    def _ends_block(self, tag: Tag) -> bool:
        """Say whether ``tag`` may end what is open, so that no code reaches across it."""
        if isinstance(self._state, ThinkState):
            return is_think_closer(tag)
        return isinstance(self._state, ReasoningState) and tag.kind == "close" and tag.name == "reasoning"

    def _resolve_pending(self, pending: PendingTag, end: CodeEnd) -> None:
        self._pending = None
        self._response.count_hold(pending.tokens)
        if end == "broken":  # no code after all: the tag was a delimiter
            self._state.code.distrust(pending.position)
            self._parse_again(pending.tokens)
            return
        if pending.begins_message and (opener := _opener_of_whole_thought(pending.tokens)):
            self._state.code.restore(pending.position)
            self._feed_block_tag(opener)
            self._parse_again(pending.tokens[1:])
            return
        tokens, scratchpads = without_scratchpads(pending.tokens)
        for notes in scratchpads:
            self._response.stripped_delimiters += 2
            self._response.add_scratchpad(notes)
        for token in tokens:
            if isinstance(self._state, ThinkState) and is_think_closer(token):
                self._note_closer(self._state, is_in_code=True)
            self._emit(token)

    def _settle_thought(self, thought: ThinkState, *, is_final: bool) -> None:
        self._state = self._text
        tokens = thought.buffer or []
        closer_at = thought.closer_at
        self._response.count_hold(tokens)
        self._response.has_open_thought = closer_at is None and not thought.doubtful_opener
        if closer_at is None:
            self._never_closed |= THINK_NAMES
            rest = tokens
            if thought.doubtful_opener:
                self._response.stripped_delimiters -= 1
                rest = [thought.doubtful_opener, *tokens]
            elif is_final and not thought.is_empty and not self._response.native_field:
                self._response.note_unclosed(
                    is_prefilled=thought.is_prefilled, follows_text=bool(self._text.head.strip())
                )
        else:
            self._never_closed |= thought.closers
            self._response.stripped_delimiters += 1
            self._output.thought(raw_text(tokens[:closer_at]))
            rest = tokens[closer_at + 1 :]
        self._output.end_thought()
        self._parse_again(rest)

    def _settle_reasoning(self, block: ReasoningState) -> None:
        self._never_closed |= {"reasoning"}
        closer_at = block.last_closer_at
        if closer_at is None:  # its text is the answer after all
            self._state = self._text
            self._response.count_hold(block.tokens)
            if block.doubtful_opener:
                self._response.stripped_delimiters -= 1
            self._parse_again([*filter(None, [block.doubtful_opener]), *block.tokens])
        else:
            self._response.stripped_delimiters += 1
            self._end_reasoning(block, block.tokens[:closer_at])
            self._parse_again(block.tokens[closer_at + 1 :])

    def _parse_again(self, tokens: Iterable[Token]) -> None:
        scratchpad, self.scratchpad = self.scratchpad, None
        for token in tokens:
            self.feed(token)
        self.scratchpad = scratchpad or self.scratchpad


def is_think_closer(token: Token) -> bool:
    return isinstance(token, Tag) and token.kind == "close" and token.name in THINK_NAMES


def _opener_of_whole_thought(tokens: Sequence[Token]) -> Tag | None:
    """Return the opener of code that is one thought, its closer and the end of the fence, else None. Product 17."""
    opener = tokens[0]
    if not isinstance(opener, Tag) or opener.kind != "open" or opener.name == "scratchpad":
        return None
    for at, token in enumerate(tokens):
        if isinstance(token, Tag) and token.kind == "close" and token.name == opener.name:
            return opener if not raw_text(tokens[at + 1 :]).strip(_FENCE_CHARS) else None
    return None
