"""What a follow-up takes from the turns before it: only what it lacks to be searchable.

The company, where it names none; the topics, where it has none of its own ("And in 2023?", "What about Amrum Lines?").
A single word beside a pronoun ("What if they are breached?") gets the topics before as context: they help to find the
passage, but an answer must hold the question's own word. Small talk between two questions is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chat.providers.analyst.question import CLAUSE, Question, read_question
from chat.providers.analyst.smalltalk import goes_on
from chat.providers.analyst.words import MOVES, stem, words_of

_LEAD = re.compile(
    r"^\W*(?:(?:and|or|but|so|then|also)\b\s*(?:what about|how about)?"
    r"|what about|how about|what of|same (?:\w+ )?for)\b",
    re.I,
)
_PRONOUN = re.compile(r"\b(?:it|they|them|this|that|these|those)\b", re.I)
_HEADLESS = re.compile(
    r"\b(?:how many|how much|which|what)\s+(?:(?:is|are|was|were|has|have|had)\b|of (?:it|them|these|those)\b)", re.I
)
_COMPANY_PRONOUN = re.compile(r"\b(?:it|its|they|their)\b", re.I)
_POSSESSED = re.compile(r"\b(?:its|their|his|her)\b", re.I)
_DETERMINER = r"\b(?:how many|how much|what|which|whose|the|an?|its|their|his|her|any|our|some|no|number of)\s+"
_BETWEEN = (
    r"(?:(?!(?:is|are|was|were|do|does|did|has|have|had|will|would|can|could|should|if|it|they|them|this|that)\b)"
    r"[\w'’-]+\s+){0,3}"
)
_ASKS_ALL = re.compile(
    r"\b(?:which|what|any|all|each|every|these|those|other|another)\s+(?:of\s+(?:the|these|those)\s+)?"
    r"(?:other\s+)?(?:compan(?:y|ies)|filings?|firms?|business(?:es)?)\b|\bwho else\b|\bwhich one\b|\beveryone\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Earlier:
    """A turn that is over: what was asked, and the one company that its answer cites, if it is one."""

    text: str
    company: str | None = None


def read_follow_up(text: str, earlier: Sequence[Earlier], known: Sequence[str] = ()) -> Question:
    """Understand a question; ``earlier`` turns, oldest first, fill in what it lacks.

    ``known`` are the companies that earlier searches have shown: their names are told without any grammar.
    """
    question = _with_known_name(read_question(text), known)
    if question.is_foreign or (question.is_small_talk and not (earlier and goes_on(question.text))):
        return question
    for place in reversed(range(len(earlier))):
        before = read_follow_up(earlier[place].text, earlier[:place], known)
        if not before.is_small_talk:
            return _completed(question, before, earlier[place].company)
    return question


def _with_known_name(question: Question, known: Sequence[str]) -> Question:
    """Take the topics that are a known company's name for the name that they are."""
    if question.names or question.is_foreign or question.compares:
        return question
    for company in known:
        said = _named_words(question, company)
        if said:
            topics = tuple(word for word in question.topics if word not in said)
            return replace(question, names=(company,), topics=topics)
    return question


def _named_words(question: Question, company: str) -> set[str]:
    """Return the words of the question that name the company: its first word, and those that follow in its name."""
    core = [word for word in words_of(company) if word not in ("the", "a")]
    topics = {stem(word): word for word in question.topics}
    if not core or stem(core[0]) not in topics:
        return set()
    is_written_small = core[0] not in question.proper and core[0] not in _capitals(question.text)
    if is_written_small and question.text != question.text.lower():
        return set()
    return {topics[stem(word)] for word in core if stem(word) in topics}


def _capitals(text: str) -> set[str]:
    return {word for found in re.findall(r"\b[A-Z][\w'’&-]*", text) for word in words_of(found)}


def _completed(question: Question, before: Question, cited: str | None) -> Question:
    whole = _with_company(question, before, cited)
    before = _without_company(before, cited)
    if question.asks_record or (question.is_overview and not _is_bare(question)):
        return whole
    if _says_too_little(question):
        return _with_topics(whole, before)
    if question.kind == "any" and _is_fragment(question):
        whole = replace(whole, kind=before.kind)
    if len(question.topics) == 1 and (_is_fragment(question) or _is_about_a_pronoun(question)):
        own = set(question.topics)
        context = dict.fromkeys(word for word in (*before.topics, *before.context[:2]) if word not in own)
        return replace(whole, context=tuple(context))
    return whole


def _with_company(question: Question, before: Question, cited: str | None) -> Question:
    if question.names and (cited or before.company) and _speaks_of_before(question):
        about = tuple(word for name in question.names for word in words_of(name))
        question = replace(question, names=(), topics=tuple(dict.fromkeys((*question.topics, *about))))
    if question.names or _ASKS_ALL.search(question.text):
        return question
    company = cited or before.company
    return replace(question, names=(company,), carried=company) if company else replace(question, names=before.names)


def _speaks_of_before(question: Question) -> bool:
    """It says *it* or *they* first, and then names a thing: *What does it say about China?*."""
    said = _COMPANY_PRONOUN.search(question.text)
    places = [question.text.find(name) for name in question.names]
    return bool(said) and min(places) > said.start() and not question.compares if said else False


def _without_company(before: Question, cited: str | None) -> Question:
    """Drop the words that named the company before: the new question may be about another."""
    words = {stem(word) for name in (*before.names, cited or "") for word in words_of(name)}
    named = {stem(word) for name in before.names for word in words_of(name)}
    gone = named | (words & set(map(stem, before.proper))) | set(map(stem, words_of(cited or "")[:1]))
    topics = tuple(word for word in before.topics if stem(word) not in gone)
    proper = frozenset(word for word in before.proper if stem(word) not in words)
    return replace(before, topics=topics, proper=proper)


def _with_topics(question: Question, before: Question) -> Question:
    """Ask what was asked before of another company or year."""
    years = question.years or before.years
    frames = tuple(dict.fromkeys((*before.frames, *question.frames)))
    topics = tuple(dict.fromkeys((*before.topics, *question.topics)))
    return replace(
        question,
        text=" ".join((*topics, *frames, *sorted(years))),
        topics=topics,
        frames=frames,
        years=years,
        kind=before.kind if question.kind == "any" else question.kind,
        proper=before.proper | question.proper,
        context=before.context,
    )


def _says_too_little(question: Question) -> bool:
    """No topic, or only that something rose or fell, and a pronoun says what."""
    is_move_alone = {stem(word) for word in question.topics} <= MOVES and bool(_PRONOUN.search(question.text))
    return not question.topics or is_move_alone


def _is_bare(question: Question) -> bool:
    """It is a name with a lead or a question mark and nothing else: *And Amrum Lines?*."""
    if not _LEAD.match(question.text) and not question.text.rstrip().endswith("?"):
        return False
    rest = set(words_of(_LEAD.sub(" ", question.text))) - {word for name in question.names for word in words_of(name)}
    return not rest


def _is_fragment(question: Question) -> bool:
    """It is a lead and a noun, *And the dividend?*: what of it is asked was said before."""
    lead = _LEAD.match(question.text)
    rest = question.text[lead.end() :] if lead else ""
    return bool(rest) and not CLAUSE.search(rest) and not _POSSESSED.search(rest)


def _is_about_a_pronoun(question: Question) -> bool:
    """The one word of its own is no noun that could be searched for: what is meant is a pronoun, or left out."""
    word = re.escape(question.topics[0])
    if re.search(rf"{_HEADLESS.pattern}\s+(?:\w+ly\s+)?{word}\b", question.text, re.I):
        return True
    is_noun = re.search(rf"{_DETERMINER}{_BETWEEN}{word}\b", question.text, re.I)
    return bool(_PRONOUN.search(question.text)) and not is_noun
