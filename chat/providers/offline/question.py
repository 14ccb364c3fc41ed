"""A question as the analyst understands it: its words, whom it names, which years, and which kind of answer.

English only, by patterns and word lists. Words are compared by crude stems, so that both sides are cut alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from chat.providers.offline.passages import FiledPassage, ToolMessage, read_result
from reasoning.prompt import CONTINUE
from reasoning.replay.attachments import question_alone

AnswerKind = Literal["figure", "money", "percent", "date", "person", "agent", "reason", "cause", "any"]

_MAX_QUERY_CHARS = 300
# What was asked longer ago is no longer meant by *it*.
_MAX_TURNS = 7
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+(?:[.,]\d+)*")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_ENDINGS = (
    "ations ation ments ment ities ity ings ing ions ion ates ated ate ies ied ed es ly e s".split()  # longest first
)
_SYNONYMS = """spend spent expense cost expenditure; pay paid payment; profit income earning; sales revenue
    turnover; buy bought purchase acquire acquisition takeover; repurchase buyback buying; fall fell drop decline
    decrease lower reduce; rise rose grow grew growth increase higher; shareholder stockholder holder; ticker
    symbol; country nation; staff worker employee workforce headcount people work employ; headquarter headquartered
    address; store shop outlet; salary compensation remuneration; biggest largest greatest; minimum least smallest
    lowest; maximum most highest; lawsuit litigation suit case proceeding sue claim legal; form found organized
    incorporate establish; debt borrowing loan outstanding notes owe; appoint become became name elect promote
    succeed; breach violate default; covenant ratio requirement; auditor audit accountant; hack cyber cybersecurity;
    leak release; outage downtime interruption; insure insured insurance; change increase decrease; trend increase
    decrease; supplier supply manufacturer manufacture vendor produce; competitor compete rival competition; chip
    semiconductor; risk danger threat; customer client buyer; mature maturity due; terminate termination cancel;
    hedge swap; happen event incident; licence license"""
STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be been before being between both but by can could did do does
    doing during each either else ever few for from further get give given gives got had has have having he her here
    hers him his how i if in into is it its itself just let like list many me more most much must my no nor not of
    off on once one only or other our out over per please same say says she should show shows so some such tell than
    that the their them then there these they this those through to too under until up us very was we were what when
    where whether which while who whom whose why will with within without would you your yours according ago already
    anything came come comes mean means happen happens happened happening know face faces facing find explain
    describe summarise summarize compare look looks went two three four bring brings brought take takes took taken
    make makes made put go goes keep kept""".split()
)
# Words that say which kind of answer is wanted, or frame the question, more than what it is about.
FRAME_WORDS = frozenset(
    """amount annual answer company companies cover date day describes detail document end exact exactly fact figure
    file filed filing filings first fiscal fourth information kind last latest level main mention new number own
    part percent percentage period portion proportion quarter question quarterly recent related report reported say
    second share spend spends spent stated statement third total type value versus year years yearly""".split()
)
_FOREIGN_WORDS = frozenset(
    """wie viele viel wer wo warum wann welche welcher welches ist sind hat der das den des ein eine und nicht von für
    quel quelle quels quelles est sont le les du une dans avec sur combien pourquoi comment qué cuál cuánto cuántos
    cómo dónde cuándo quién el los del para tiene son quanti quanto quale quali chi dove perché il gli della ha quanto
    quantos qual quem onde hoeveel waarom wanneer welke""".split()
)
_SMALL_TALK = frozenset(
    """hello hi hey thanks thank good morning evening afternoon night ok okay bye goodbye cool great nice test testing
    ping help helpful welcome sorry yes no sure fine model version bot chatbot robot human joke awesome perfect
    excellent amazing wonderful interesting lovely useful cheers understood right well lot wow haha ai
    assistant there""".split()
)
_OVERVIEW_WORDS = frozenset("business overview profile background introduction".split())


def words_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of whole words, whatever their case."""
    return re.compile(rf"\b(?:{pattern})", re.IGNORECASE)


_ABOUT_ANALYST = words_pattern(
    r"(?:who|what|how) are you\b|what can (?:you|i) (?:do|ask)\b|how (?:do|can) (?:you|i) (?:work|use)\b"
    r"|are you (?:an?|real|human|there)\b|what do you do\b|which (?:language )?model are you\b"
    r"|your (?:name|model|version)\b"
)
_POLITE_OPENING = re.compile(
    r"^\s*(?:(?:thanks|thank you|hi|hello|hey|dear|please|ok|okay|great)(?:\s+(?:a lot|so much|very much|there))?"
    r"\b[\s,.!;:–—-]*)+",
    re.I,
)
_AMOUNTS = r"sales|revenues?|income|earnings|profit|expenses?|dividends?"
_KINDS: tuple[tuple[AnswerKind, re.Pattern[str]], ...] = (
    (
        "percent",
        re.compile(r"\b(?:percent\w*|what (?:share|part|portion|proportion)|what (?:\w+ ){0,4}rate\b)|%", re.I),
    ),
    (
        "figure",
        words_pattern(
            r"how many\b|number of\b|by how much\b|how (?:large|big|long|often|far)\b|(?:what|which)\b.*\bratio\b"
        ),
    ),
    ("date", words_pattern(r"when\b|(?:what|which) (?:\w+ )?(?:date|day|month|year)\b")),
    ("person", words_pattern(r"who(?:se)? (?:is|was)\b")),
    ("agent", words_pattern(r"who(?:m|se)?\b")),  # Who audits it?
    ("cause", words_pattern(r"what (?:else )?(?:would|could|might|can|may)\b")),
    ("reason", words_pattern(r"why\b|how come\b|what (?:caused|led|drove)\b")),
    (
        "money",
        re.compile(
            r"^(?!.*\b(?:how|why|what|describe|explain|tell|risks?|summari[sz]e)\b)"
            rf".*\b(?:{_AMOUNTS})\b(?:\s+(?:in|for|of|from)\b.*)?\W*(?:\d{{4}}\W*)?$"  # Net sales in 2024?
            r"|\bhow much\b|\b(?:what|which) (?:\w+ )?(?:amount|charge|costs?|price)\b"
            r"|\bwhat (?:was|were|is|are|did|does|do|has|have)\b.*"
            rf"\b(?:{_AMOUNTS}|loss|costs?|cash|debt|assets|liabilities|margin|charge|price)\b",
            re.I,
        ),
    ),
)
_NAME = r"[A-Z0-9][\w.&\-]*(?:\s+(?:(?:of|and|&)\s+)?[A-Z][\w.&\-]*)*"
_NAMES = (
    re.compile(rf"\b({_NAME})(?:['’]s|(?<=s)['’])(?=[\s?.,!]|$)"),
    re.compile(
        rf"\b(?:did|does|do|has|have|had|is|was|were|are|will|can|would|could|should|about|of|at|by)\s+"
        rf"({_NAME}(?:['’]s)?)(?=[\s?,.!]|$)"
    ),
    re.compile(r"\b([a-z][\w&]{2,})['’]s\s"),
)
_BARE_NAME = re.compile(rf"^\W*(?:(?:and|or|but|what about|how about|or)\s+)?((?-i:{_NAME}))(?:['’]s?)?\W*$", re.I)
# Measures of a question, and names of forms, say nothing of what it is about.
_MEASURE = words_pattern(
    r"how (?:large|big|long|old|often|far|high|low|close|well|fast|soon|wide)\b|(?:10|8|20|40)-[KQF]\b"
)
_COMPARES = words_pattern(
    r"(?:compar\w+|versus|vs|both|two companies|each company|differ\w*|which (?:of the )?(?:two )?compan(?:y|ies))\b"
)
_VERB = r"is|are|was|were|does|do|did|has|have|had|can|will"
_CLAUSE = words_pattern(rf"(?:how|who|why|when|where|which|what|{_VERB})\b")
_ASKS_RECORD = words_pattern(
    r"(?:when|what date|which date)\b.*\bfiled\b|filing date\b|date of (?:the )?filing\b|(?:what|which) form\b"
    r"|(?:what|which) (?:fiscal )?(?:year|period) (?:does|is)\b"
)
# What a follow-up is recognised by.
_LEAD = re.compile(r"^\W*(?:and|or|but|so|then|also|what about|how about|what of|same for)\b", re.I)
CONTINUES = re.compile(r"^\W*(?:and|or|but|so|why|when|where|who|which|what about|how)\b", re.I)
_REFERS_BACK = words_pattern(  # also without its noun: How many are leased?
    r"(?:they|them|this|that|these|those|of it)\b|(?:how many|how much|which)\s+(?:is|are|was|were|has|have|had|of)\b"
)
_ABOUT_COMPANY = words_pattern(r"(?:it|its|they|their|theirs|the company)\b")
_ASKS_ALL = words_pattern(
    r"(?:which|what|any|all|each|every|these|those|other|another)\s+(?:of\s+(?:the|these|those)\s+)?"
    r"(?:other\s+)?(?:compan(?:y|ies)|filings?|firms?|business(?:es)?)\b|who else\b|which one\b|everyone\b"
)
_HALVES = re.compile(
    rf"[,;]?\s+and\s+(?=(?:also\s+)?(?:how|who|why|when|where|which|what|{_VERB})\b)|(?<=\?)\s+(?=\w+ )", re.I
)
_OTHER_YEAR = words_pattern(
    r"years? (?:before|after|earlier)\b|(?:previous|prior|preceding|next|following) (?:fiscal )?year\b"
)
_LISTED = r"(?:filings|reports|documents|companies)"
_ASKS_LIST = re.compile(
    r"\W*(?:can you |could you )?(?:list|show|give|name|tell|which|what)\b(?: (?:me|all|the|of|are|your|available"
    rf"|loaded|stored|every|other|sec))* {_LISTED}\b(?: (?:are|is|do|does|have|has|there|here|you|on|loaded"
    r"|available|stored|this|the|server|i|can|ask|about|in|we|know|search)\b)*"
    r"(?: (?:of|by|from|for|does|did) (?:\S+ ?){1,6})?\W*$",
    re.I,
)
_CITED = re.compile(r"\[(\d{1,6}(?:\s*[,;]\s*\d{1,6})*)\]")
# Filings spell these out or call them so.
_ABBREVIATIONS = {
    re.compile(r"\b(?:buy(?:ing|s)?|bought) back\b", re.I): "repurchase",
    re.compile(r"\bR&D\b", re.I): "research and development",
    re.compile(r"\b(?:main|biggest|greatest|key|principal|top) risks\b", re.I): "risk factors",
    re.compile(r"\bEPS\b"): "earnings per share",
    re.compile(r"\bCEO\b"): "chief executive officer",
    re.compile(r"\bCFO\b"): "chief financial officer",
}


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case, possessives without their ending."""
    return [re.sub(r"['’]s?$", "", word).replace("’", "'") for word in _WORD.findall(text.lower())]


def stems_of(text: str) -> frozenset[str]:
    """Return the stems of a text's words."""
    return frozenset(map(stem, words_of(text)))


def years_of(text: str) -> frozenset[str]:
    """Return the years that a text names."""
    return frozenset(_YEAR.findall(text))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return a word without its ending."""
    if word[:1].isdigit() or len(word) < 4:
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith(("ss", "pply")):
            bare = word[: -len(ending)]
            # A consonant may be doubled before the ending: planned, plan.
            if len(bare) > 3 and bare[-1] == bare[-2] and bare[-1] not in "aeioulsz":
                bare = bare[:-1]
            return bare + ("y" if ending in ("ies", "ied") else "")
    return word


_SYNONYM_GROUPS = [words_of(group) for group in _SYNONYMS.split(";")]


@lru_cache(maxsize=20_000)
def synonyms_of(stemmed: str) -> frozenset[str]:
    """Return the stems that mean about the same, without the word itself."""
    groups = (frozenset(map(stem, group)) for group in _SYNONYM_GROUPS)
    return frozenset().union(*(group for group in groups if stemmed in group)) - {stemmed}


def similar_words(word: str) -> list[str]:
    """Return the words that mean about the same, one of each stem."""
    stems = synonyms_of(stem(word))
    similar = {stem(other): other for group in _SYNONYM_GROUPS for other in reversed(group) if stem(other) in stems}
    return list(similar.values())


def first_word(company: str) -> frozenset[str]:
    """Return the stem of the first word of a company's name that is more than an article."""
    return frozenset([stem(word) for word in words_of(company) if word not in ("the", "a")][:1])


def names_one_of(text: str, companies: Sequence[str]) -> bool:
    """Say whether a text has the first word of one of these names."""
    return any(first_word(company) & stems_of(text) for company in companies)


@dataclass(frozen=True, slots=True)
class Question:
    """``topics`` are the words that it is about; ``frames`` the words around them, which weigh little.

    ``names`` are whom it speaks of by possessive or as subject: companies, perhaps places. ``company`` is carried over
    from the question before.
    """

    text: str
    topics: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    years: frozenset[str] = frozenset()
    kind: AnswerKind = "any"
    company: str | None = None
    likely_company: str | None = None  # the one before, should the search show that the question names none

    @property
    def is_about_analyst(self) -> bool:
        """It asks who or what answers."""
        return bool(_ABOUT_ANALYST.search(self.text))

    @property
    def is_small_talk(self) -> bool:
        """Nothing is asked that a filing could answer: a greeting, thanks, or a question about who answers."""
        if set(self.topics) - _SMALL_TALK or self.names or self.years:
            return False
        return not self.frames or self.is_about_analyst

    @property
    def asks_list(self) -> bool:
        """It asks which filings there are."""
        return bool(_ASKS_LIST.match(self.text))

    @property
    def asks_record(self) -> bool:
        """It asks what the record of a filing says: when it was filed, for which period."""
        return bool(_ASKS_RECORD.search(self.text))

    @property
    def compares(self) -> bool:
        """It asks about several companies side by side."""
        return bool(_COMPARES.search(self.text))

    @property
    def is_foreign(self) -> bool:
        """It is plainly in another language: by its script, or by little words where there are no English ones."""
        words = set(words_of(self.text))
        if len(re.findall(r"[\u0370-\u1fff\u2e80-\ud7ff\uf900-\ufaff]", self.text)) * 4 > len(self.text):
            return True
        return len(words & _FOREIGN_WORDS) > len(words & STOP_WORDS - _FOREIGN_WORDS)

    @property
    def without_question_words(self) -> str:
        """Its text without words such as *who*, *what* and *is*."""
        return _CLAUSE.sub(" ", self.text)

    def is_overview(self, company: str) -> bool:
        """Whether nothing is asked about this company but what it is."""
        named = stems_of(company) | stems_of(" ".join(self.names))
        asked = {word for word in self.topics if stem(word) not in named} - _OVERVIEW_WORDS
        is_named = names_one_of(self.text, [company]) or self.company == company
        return not (asked or self.frames or self.years) and is_named and self.kind == "any"

    @property
    def query(self) -> str:
        """The words to search for, in order, each once, with the names of the question."""
        wanted = {*self.topics, *self.frames, *self.years, *words_of(" ".join(self.names))}
        words = re.findall(r"[^\s?!,;:()\"“”„«»¿¡？！、。]+", _MEASURE.sub(" ", self.text))
        chosen = [word.strip(".'’") for word in words if wanted.intersection(words_of(word))]
        present = {part for word in chosen for part in words_of(word)}
        carried = (*words_of(" ".join(self.names)), *self.topics, *self.frames, *sorted(self.years))
        chosen += [word for word in carried if word not in present]
        return " ".join(dict.fromkeys(chosen))[:_MAX_QUERY_CHARS] or self.text[:_MAX_QUERY_CHARS]

    @property
    def wide_query(self) -> str:
        """The words to search for, with those that mean about the same; the same as ``query`` where none is known."""
        present = words_of(self.query)
        more = [word for topic in self.topics for word in similar_words(topic) if word not in present]
        # The search skips "or"; it tells people which words were added.
        return " ".join([self.query, *(["or"] if more else []), *dict.fromkeys(more)])[:_MAX_QUERY_CHARS]


def read_question(text: str) -> Question:
    """Understand a question by itself, without a polite opening."""
    text = " ".join(text.split())
    for abbreviation, meaning in _ABBREVIATIONS.items():
        text = abbreviation.sub(meaning, text)
    opening = _POLITE_OPENING.match(text)
    if opening and re.search(r"\w", text[opening.end() :]):
        text = text[opening.end() :]

    found = [match[1] for pattern in _NAMES for match in pattern.finditer(text)]
    bare = _BARE_NAME.match(text)  # And Amrum Lines?
    found += [bare[1]] if bare and set(words_of(text)) - _SMALL_TALK else []
    if _COMPARES.search(text):
        found = [one for name in found for one in name.split(" and ")]
    names = []
    for name in found:
        # Words at the front may only look like a name because a sentence begins there.
        parts = re.sub(r"['’]s$", "", name).split()
        while parts and (parts[0].lower() in STOP_WORDS | FRAME_WORDS or parts[0].isdigit()):
            parts = parts[1:]
        names.append(" ".join(parts).rstrip("."))
    names = [name for name in dict.fromkeys(names) if name and not name.isdigit()]

    skipped = STOP_WORDS | years_of(text)
    named = stems_of(" ".join(names))
    words = [
        word
        for word in dict.fromkeys(words_of(_MEASURE.sub(" ", text)))
        if len(word) > 1 and word not in skipped and stem(word) not in named
    ]
    return Question(
        text=text,
        topics=tuple(word for word in words if word not in FRAME_WORDS),
        frames=tuple(word for word in words if word in FRAME_WORDS),
        names=tuple(names),
        years=years_of(text),
        kind=next((kind for kind, pattern in _KINDS if pattern.search(text)), "any"),
    )


@dataclass
class PastTurn:
    """A question with the tool results that came back for it, and the answer so far."""

    text: str
    results: list[ToolMessage | None] = field(default_factory=list)
    answer: str = ""

    @property
    def cited(self) -> list[FiledPassage]:
        """The passages that the answer cites: none where it answers nothing."""
        passages = {passage.ref: passage for result in self.results if result for passage in result.passages}
        refs = {int(ref) for found in _CITED.findall(self.answer) for ref in re.findall(r"\d+", found)}
        return [passages[ref] for ref in sorted(refs) if ref in passages]

    @property
    def company(self) -> str | None:
        """The one company that the answer cites, else the one to which the first search was narrowed."""
        cited = {passage.company for passage in self.cited if passage.company}
        if len(cited) == 1:
            return cited.pop()
        narrowed = next((result.searched.companies for result in self.results if result), ())
        return narrowed[0] if len(narrowed) == 1 else None


@dataclass
class Context:
    """What a follow-up may refer to. ``known`` are the companies that searches have shown."""

    previous: Question | None = None  # the question before; None where nothing answered it
    names: tuple[str, ...] = ()
    company: str | None = None
    known: set[str] = field(default_factory=set)
    year: int | None = None  # the fiscal year of the passage that was cited first


def read_conversation(messages: Sequence[Mapping[str, Any]]) -> tuple[str, Context, list[ToolMessage | None]]:
    """Return the last message, what it may refer to, and the results of its searches so far."""
    turns: list[PastTurn] = []
    for message in messages:
        content = message.get("content")
        text = content if isinstance(content, str) else ""
        match message.get("role"):
            case "user" if content != CONTINUE:
                turns.append(PastTurn(question_alone(content)))  # the search returns what attached files say
            case "tool" if turns:
                turns[-1].results.append(read_result(text))
            case "assistant" if turns:
                turns[-1].answer += text

    context = Context()
    for turn in turns[-_MAX_TURNS:-1]:
        if not turn.results:  # thanks in between must not end the subject
            continue
        for result in filter(None, turn.results):
            context.known.update(result.companies, result.searched.companies)
        halves = [complete(half, context) for half in split_question(turn.text)]
        question, cited = halves[0], turn.cited
        context.names = question.names
        context.company = turn.company or (question.company if not question.names else None)
        # Words of a question that nothing answered say nothing about the next one.
        context.previous = question if cited else None
        years = [int(year) for passage in cited for year in _YEAR.findall((passage.period or "")[:4])]
        context.year = next(iter(years), None)
    return (turns[-1].text, context, turns[-1].results) if turns else ("", context, [])


def split_question(text: str) -> list[str]:
    """Return the halves of *What did it cost, and is it insured?*; one where it has none."""
    halves = [half for half in _HALVES.split(" ".join(text.split()), maxsplit=1) if half.strip()]
    return halves if len(halves) > 1 and all(_CLAUSE.search(half) or _LEAD.match(half) for half in halves) else [text]


def named_companies(text: str, companies: Iterable[str]) -> list[str]:
    """Return the companies that a text names by the first word of their names, whatever the case.

    Beside words with capitals a word in lower case is no name: *apple* is a fruit, *home depot* is none.
    """
    words = words_of(text)
    capitals = {word for found in re.findall(r"\b[A-Z]\S*", text) for word in words_of(found)}
    has_case = any(char.isupper() for char in text[1:])
    named = []
    for company in companies:
        first, *others = [word for word in words_of(company) if word not in ("the", "a")] or [""]
        places = [place for place, word in enumerate(words) if stem(word) == stem(first)]
        is_followed = any(words[place + 1 : place + 2] == others[:1] for place in places)
        if places and (is_followed or not has_case or capitals & {words[place] for place in places}):
            named.append(company)
    return named


def complete(text: str, context: Context) -> Question:
    """Read a question, and add what a follow-up lacks: the company, if it names none, and the topics, if it has none.

    A complete question stands alone.
    """
    question = read_question(text)
    previous, company = context.previous, context.company
    is_lead = bool(_LEAD.match(question.text))
    it = _ABOUT_COMPANY.search(question.text)
    places = [question.text.find(name) for name in question.names]
    named = named_companies(question.text, context.known)
    if it and places and company and not named and it.start() < min(places) and not question.compares:
        # *What does it say about China?* names a thing, not another company.
        words = [word for name in question.names for word in words_of(name)]
        question = replace(question, names=(), topics=tuple(dict.fromkeys((*question.topics, *words))))

    # 1. *And the year before?*
    if shift := _OTHER_YEAR.search(question.text):
        years = question.years or (previous.years if previous and (is_lead or not question.topics) else frozenset())
        base = min(map(int, years)) if years else context.year
        if base:
            other = str(base + (1 if re.search("after|next|following", shift[0], re.I) else -1))
            rest = read_question(_OTHER_YEAR.sub("", text))
            question = replace(rest, text=question.text, years=question.years | {other})
    # 2. The topics: whole for a question that has none, as a hint for one that refers back.
    name_stems = stems_of(" ".join((*question.names, *named)))
    topics = [word for word in question.topics if stem(word) not in name_stems]
    is_bare_name = (question.names or named) and not is_lead and not question.text.endswith("?")
    is_open = not topics and not question.asks_record and not question.asks_list and not is_bare_name
    refers_back = bool(_REFERS_BACK.search(question.text))
    fragment = is_lead and not _CLAUSE.search(_LEAD.sub("", question.text))
    is_follow_up = is_open or refers_back or is_lead
    if not (question.names or named or question.asks_list or _ASKS_ALL.search(question.text) or question.compares):
        is_sure = is_open or it or refers_back
        if is_sure:
            question = replace(question, company=company, names=() if company else context.names)
        else:
            question = replace(question, likely_company=company)
    if not (previous and is_follow_up):
        return question
    theirs = stems_of(" ".join((*previous.names, *([company] if company else []))))
    before = [word for word in previous.topics if stem(word) not in theirs]
    kind = previous.kind if question.kind == "any" else question.kind
    if is_open:
        # *And in 2023?*, *What about Amrum Lines?*, *Why?*
        return replace(
            question,
            topics=tuple(dict.fromkeys((*question.topics, *before))),
            frames=tuple(dict.fromkeys((*previous.frames, *question.frames))),
            kind=kind,
            years=question.years or previous.years,
        )
    if len(topics) == 1 and (fragment or refers_back):
        # *How many are leased?*: the words before help to search, and weigh little.
        frames = (*question.frames, *(word for word in before if word not in topics))
        return replace(question, frames=tuple(dict.fromkeys(frames)), kind=kind if fragment else question.kind)
    return question
