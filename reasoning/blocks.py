"""Sort the text and tags of one field of one response into answer, thoughts and scratchpads. Normaliser 1, 4 to 7, 9.

States: outside any block; in a thought (``think``, ``thinking``); in a ``<REASONING>`` block; in native text. A
scratchpad lies over any of them, and so does doubt about a tag inside apparent code. While a rule can still go either
way, the tokens wait; when the question is settled they are either let go or sorted again from the first of them. What
was learnt on the way (a closer that never came) is kept for that second time, so that each token is sorted a bounded
number of times, however many openers a text holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoning.blockstates import THOUGHTS, Block, Hold, Native, Outside, Sink, State, Thought, can_end
from reasoning.codespans import CodeTracker, Verdict
from reasoning.deltas import Channel
from reasoning.literals import as_literal, closes_pad, length_of, raw_text
from reasoning.tagscan import Tag, TagKind, Token


class BlockSorter:
    """Feed it tokens; see the module for what it promises."""

    def __init__(self, sink: Sink, *, starts_in_reasoning: bool = False, is_native: bool = False) -> None:
        self._sink = sink
        self._outside = Outside()
        self._state: State = self._outside
        if is_native:
            self._state = Native()
        elif starts_in_reasoning:
            self._state = Thought(THOUGHTS, is_hinted=True)
        self._pad: list[str] | None = None
        self._hold: Hold | None = None
        self._native_seen = False
        self._never_closed: frozenset[str] = frozenset()

    @property
    def straight(self) -> tuple[CodeTracker, Channel] | None:
        """Where text would go straight now, and the tracker to note it in; None while it would wait."""
        if self._pad is not None or self._hold is not None:
            return None
        match self._state:
            case Outside(code):
                return code, Channel.VISIBLE
            case Native(code) | Thought(held=None, is_fresh=False, code=code):
                return code, Channel.THINKING
        return None

    @property
    def is_thinking(self) -> bool:
        """Whether a thought or a REASONING block is open."""
        return isinstance(self._state, Thought | Block)

    def native_seen(self) -> None:
        """Native text came: openers from here on may be strays, the template's own included. Normaliser 5, 8."""
        self._native_seen = True
        state = self._state
        if isinstance(state, Thought) and state.is_hinted and state.is_fresh and state.held is None:
            state.held = []

    def take(self, token: Token) -> None:
        """Sort one token."""
        if self._pad is not None:
            self._take_private(token, self._pad)
        elif self._hold is not None:
            self._take_doubted(token, self._hold)
        elif isinstance(token, Tag):
            self._take_tag(token)
        else:
            self._state.code.note(token)
            self._put(token)

    def settle(self, *, is_final: bool) -> None:
        """Decide what is open: at the end of the stream all, at a tool call thoughts and code. Normaliser 5, 11."""
        pad, self._pad = self._pad, None
        while self._settle_one(is_final=is_final):
            pass
        self._pad = self._pad if pad is None else pad
        if is_final and self._pad is not None:
            self._end_pad(self._pad)
        self._never_closed = frozenset()
        for state in (self._outside, self._state):
            state.code.trust_fences(trusts=True)

    def _take_private(self, token: Token, pad: list[str]) -> None:
        if not isinstance(token, Tag):
            pad.append(token)
        elif closes_pad(token):
            self._sink.stripped()
            self._end_pad(pad)
        else:
            pad.append(token.raw)

    def _end_pad(self, pad: list[str]) -> None:
        self._pad = None
        self._sink.scratchpad("".join(pad))

    def _take_tag(self, tag: Tag) -> None:
        if self._minds_code(tag) and self._state.code.is_inside():
            code = self._state.code
            self._hold = Hold([tag], code.snapshot())
            code.note_tag()
        elif tag.kind is TagKind.VOID or closes_pad(tag):
            self._sink.stripped()
        elif tag.name == "scratchpad":
            self._sink.stripped()
            self._pad = []
        else:
            self._take_delimiter(tag)

    def _minds_code(self, tag: Tag) -> bool:
        """In the answer any tag can be a literal; in a thought that is asked of a scratchpad's opener only."""
        return self._state is self._outside or (tag.name == "scratchpad" and tag.kind is TagKind.OPEN)

    def _take_delimiter(self, tag: Tag) -> None:
        match self._state:
            case Outside():
                self._open(tag)
            case Thought() as thought:
                self._take_in_thought(tag, thought)
            case Block() as block:
                self._take_in_block(tag, block)
            case Native():
                self._sink.stripped()

    def _open(self, tag: Tag) -> None:
        self._sink.stripped()
        if tag.kind is TagKind.CLOSE:
            return
        if tag.name == "reasoning":
            self._state = self._outside if tag.name in self._never_closed else Block()
        elif not (self._native_seen and self._never_closed >= THOUGHTS):
            self._state = Thought(frozenset({tag.name}), held=[] if self._native_seen else None)

    def _take_in_thought(self, tag: Tag, thought: Thought) -> None:
        if tag.name not in THOUGHTS:
            self._put(tag)
        elif tag.kind is TagKind.OPEN:
            self._reopen(tag, thought)
        elif tag.name in thought.closers or thought.closers <= self._never_closed:
            self._end_thought(thought)
        else:
            thought.held = thought.held if thought.held is not None else []
            thought.other_closer_at = len(thought.held) if thought.other_closer_at < 0 else thought.other_closer_at
            self._put(tag)

    def _reopen(self, tag: Tag, thought: Thought) -> None:
        if thought.is_hinted and thought.is_fresh:
            thought.closers, thought.is_fresh, thought.is_hinted = frozenset({tag.name}), False, False
            self._sink.stripped()
        else:
            self._put(tag)

    def _end_thought(self, thought: Thought) -> None:
        self._state = self._outside
        self._sink.stripped()
        if thought.held is not None:
            self._sink.held(length_of(thought.held))
        if thought.held:
            self._sink.thought(raw_text(thought.held))
        self._sink.end_thought()

    def _take_in_block(self, tag: Tag, block: Block) -> None:
        if tag.name == "reasoning":
            block.depth += 1 if tag.kind is TagKind.OPEN else -1
        if block.depth == 0:
            self._sink.stripped()
            self._end_block(block, block.tokens)
            return
        if tag.name == "reasoning" and tag.kind is TagKind.CLOSE:
            block.last_closer_at = len(block.tokens)
        block.tokens.append(tag)

    def _end_block(self, block: Block, body: Sequence[Token]) -> None:
        self._state = self._outside
        self._sink.held(length_of(block.tokens))
        self._sink.thought(raw_text(body))
        self._sink.end_thought()

    def _put(self, token: Token) -> None:
        """Add text, or a tag that is text here, to what is open."""
        text = token.raw if isinstance(token, Tag) else token
        match self._state:
            case Outside():
                self._sink.visible(text)
            case Native():
                self._sink.thought(text)
            case Block() as block:
                block.tokens.append(token)
            case Thought() as thought:
                thought.is_fresh = thought.is_fresh and text.isspace()
                if thought.held is None:
                    self._sink.thought(text)
                else:
                    thought.held.append(token)

    def _take_doubted(self, token: Token, hold: Hold) -> None:
        code = self._state.code
        if not isinstance(token, Tag):
            end, verdict = code.watch(token)
            hold.tokens += [token[:end]] if end else []
            token = token[end:]
        else:
            verdict = code.watch_tag() or (Verdict.BROKEN if can_end(self._state, token) else None)
        if verdict is not None:
            self._decide(verdict, hold)
            if token:
                self.take(token)
        elif isinstance(token, Tag):
            code.note_tag()
            hold.tokens.append(token)

    def _decide(self, verdict: Verdict, hold: Hold) -> None:
        self._hold = None
        self._sink.held(length_of(hold.tokens))
        if verdict is Verdict.CLOSED:
            self._put_literal(hold.tokens)
        else:
            self._state.code.distrust(hold.place)
            self._sort_again(hold.tokens)

    def _put_literal(self, tokens: Sequence[Token]) -> None:
        shown, pads = as_literal(tokens)
        for pad in pads:
            self._sink.stripped()
            self._sink.stripped()
            self._sink.scratchpad(pad)
        if shown:
            self._put(shown)

    def _settle_one(self, *, is_final: bool) -> bool:
        """Decide the topmost open thing; False where nothing is left to decide."""
        state = self._state
        if self._hold is not None:
            self._settle_hold(self._hold, is_final=is_final)
        elif isinstance(state, Thought):
            self._settle_thought(state)
        elif isinstance(state, Block) and is_final:
            self._settle_block(state)
        else:
            return False
        return True

    def _settle_hold(self, hold: Hold, *, is_final: bool) -> None:
        code = self._state.code
        verdict = code.finish() if is_final else Verdict.BROKEN
        if verdict is Verdict.BROKEN:
            code.trust_fences(trusts=False)
        self._decide(verdict, hold)

    def _settle_thought(self, thought: Thought) -> None:
        self._state = self._outside
        held = thought.held or []
        at = thought.other_closer_at
        self._sink.held(length_of(held))
        self._never_closed |= thought.closers if at >= 0 else THOUGHTS
        if at >= 0:
            self._sink.stripped()
        self._sink.end_thought()
        self._sort_again(held[at + 1 :])

    def _settle_block(self, block: Block) -> None:
        at = block.last_closer_at
        self._never_closed |= {"reasoning"}
        if at < 0:
            self._state = self._outside
            self._sink.held(length_of(block.tokens))
        else:
            self._sink.stripped()
            self._end_block(block, block.tokens[:at])
        self._sort_again(block.tokens[at + 1 :])

    def _sort_again(self, tokens: Iterable[Token]) -> None:
        pad, self._pad = self._pad, None
        for token in tokens:
            self.take(token)
        self._pad = self._pad if pad is None else pad
