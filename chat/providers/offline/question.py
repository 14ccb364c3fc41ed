"""A question as the analyst understands it: its words, whom it names, which years, and which kind of answer.

English only, by patterns and word lists. Words are compared by crude stems, so that both sides are cut alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

AnswerKind = Literal["number", "figure", "money", "percent", "date", "person", "place", "reason", "any"]

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+(?:[.,]\d+)*")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_ENDINGS = (
    *("ations", "ation", "ments", "ment", "ities", "ity", "ings", "ing", "ions", "ion"),
    *("ates", "ated", "ate", "ies", "ied", "ed", "es", "ly", "e", "s"),
)
_SYNONYMS = """
spend spent expense cost expenditure
pay paid payment
profit income earning
sales revenue turnover
buy bought purchase acquire acquisition takeover
repurchase buyback
fall fell drop decline decrease lower reduce
rise rose grow grew growth increase higher
shareholder stockholder holder
staff worker employee workforce headcount
headquarter headquartered address
ticker symbol
ceo chief
cfo chief financial
salary compensation remuneration
biggest largest greatest
minimum least smallest lowest
maximum most highest
lawsuit litigation suit case proceeding sue
shop store outlet
form found organized incorporate establish
debt borrowing
appoint become became name elect promote succeed
breach violate default
covenant ratio requirement
country nation
auditor audit accountant
hack cyber cybersecurity
leak release
outage downtime interruption
insure insured insurance
change increase decrease
trend increase decrease
"""
STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be been before being between both but by can could did do does
    doing during each either else ever few for from further get give given gives got had has have having he her here
    hers him his how i if in into is it its itself just let like list many me more most much must my no nor not of off
    on once one only or other our out over own per please same say says she should show shows so some such tell than
    that the their them then there these they this those through to too under until up us very was we were what when
    where whether which while who whom whose why will with within without would you your yours according ago already
    anything came come comes mean means happen happens happened happening know find explain describe summarise summarize
    compare look looks went two three four bring brings brought take takes took taken make makes made put go goes keep
    kept""".split()  # noqa: SIM905
)
# Words that say which kind of answer is wanted, or frame the question, more than what it is about.
FRAME_WORDS = frozenset(
    """amount annual answer company companies cover date day describes detail document end exact exactly fact figure
    file filed filing filings first fiscal fourth information kind last latest level main mention new number part
    percent percentage period portion proportion quarter question quarterly recent related report reported say second
    share stated statement third total type value versus year years yearly""".split()  # noqa: SIM905
)
_FOREIGN_WORDS = frozenset(
    """wie viele viel wer wo warum wann welche welcher welches ist sind hat der das den des ein eine und nicht von für
    quel quelle quels quelles est sont le les du une dans avec sur combien pourquoi comment qué cuál cuánto cuántos
    cómo dónde cuándo quién el los del para tiene son quanti quanto quale quali chi dove perché il gli della ha quanto
    quantos qual quem onde hoeveel waarom wanneer welke""".split()  # noqa: SIM905
)
_SMALL_TALK = frozenset(
    """hello hi hey thanks thank good morning evening afternoon night ok okay bye goodbye cool great nice test testing
    ping help helpful welcome sorry yes no sure fine model version bot chatbot robot human joke awesome perfect
    excellent amazing wonderful interesting lovely useful cheers understood right well lot wow haha ai
    assistant there""".split()  # noqa: SIM905
)
_ABOUT_ITSELF = re.compile(
    r"\b(?:who|what|how) are you\b|\bwhat can (?:you|i) (?:do|ask)\b|\bhow (?:do|can) (?:you|i) (?:work|use)\b"
    r"|\bare you (?:an?|real|human|there)\b|\bwhat do you do\b|\bwhich (?:language )?model are you\b"
    r"|\byour (?:name|model|version)\b",
    re.I,
)
_POLITE_OPENING = re.compile(
    r"^\s*(?:(?:thanks|thank you|hi|hello|hey|dear|please|ok|okay|great)(?:\s+(?:a lot|so much|very much|there))?"
    r"\b[\s,.!;:–—-]*)+",
    re.I,
)
_KINDS: tuple[tuple[AnswerKind, re.Pattern[str]], ...] = (
    (
        "percent",
        re.compile(r"\b(?:percent\w*|what (?:share|part|portion|proportion)|what (?:\w+ ){0,4}rate\b|%)", re.I),
    ),
    ("number", re.compile(r"\bhow many\b|\bnumber of\b", re.I)),
    (
        "figure",
        re.compile(r"\bby how much\b|\bhow (?:large|big|long|often|far)\b|\b(?:what|which)\b.*\bratio\b", re.I),
    ),
    ("date", re.compile(r"\bwhen\b|\b(?:what|which) (?:\w+ )?(?:date|day|month|year)\b", re.I)),
    ("person", re.compile(r"\bwho(?:m|se)?\b", re.I)),
    ("place", re.compile(r"\bwhere\b|\bin (?:which|what) (?:city|country|court|place|state)\b", re.I)),
    ("reason", re.compile(r"\bwhy\b|\bhow come\b|\bwhat (?:caused|led|drove)\b", re.I)),
    (
        "money",
        re.compile(
            r"^(?!.*\b(?:how|why|what|describe|explain|tell|risks?|summari[sz]e)\b)"
            r".*\b(?:sales|revenues?|income|earnings|profit|expenses?|dividends?)\b(?:\s+(?:in|for|of|from)\b.*)?\W*(?:\d{4}\W*)?$|"
            r"\bhow much\b|\b(?:what|which) (?:\w+ )?(?:amount|charge|costs?|price)\b"
            r"|\bwhat (?:was|were|is|are|did|does|do|has|have)\b.*"
            r"\b(?:sales|revenues?|income|earnings|profit|loss|costs?|expenses?"
            r"|cash|debt|assets|liabilities|dividends?|margin|charge|price)\b",
            re.I,
        ),
    ),
)
_NAME = r"[A-Z0-9][\w.&\-]*(?:\s+(?:(?:of|and|&)\s+)?[A-Z][\w.&\-]*)*"
_POSSESSIVE = re.compile(rf"\b({_NAME})(?:['’]s|(?<=s)['’])(?=[\s?.,!]|$)")
_SUBJECT = re.compile(
    rf"\b(?:did|does|do|has|have|had|is|was|were|are|will|can|would|could|should|about|of|at|by)\s+"
    rf"({_NAME}(?:['’]s)?)(?=[\s?,.!]|$)",
)
_LOWER_POSSESSIVE = re.compile(r"\b([a-z][\w&]{2,})['’]s\s")
_BARE_NAME = re.compile(rf"^\W*(?:(?:and|or|but|what about|how about|or)\s+)?((?-i:{_NAME}))(?:['’]s?)?\W*$", re.I)
_INNER_CAPITAL = re.compile(r"(?<=[^.?!:\s\"“(])[ ,]+([A-Z][\w'’&-]+)")  # not explained by a sentence's beginning
# Measures of a question, and names of forms, say nothing of what it is about.
_MEASURE = re.compile(
    r"\bhow (?:large|big|long|old|often|far|high|low|close|well|fast|soon|wide)\b|\b(?:10|8|20|40)-[KQF]\b", re.I
)
_COMPARES = re.compile(
    r"\b(?:compar\w+|versus|vs|both|two companies|each company|differ\w*|which (?:of the )?(?:two )?compan(?:y|ies))\b",
    re.I,
)
_ASKS_TWICE = re.compile(
    r"\band (?:is|are|was|were|do|does|did|has|have|can|will|how|what|who|why|when|where|which|whether)\b", re.I
)
_ASKS_RECORD = re.compile(
    r"\b(?:when|what date|which date)\b.*\bfiled\b|\bfiling date\b|\bdate of (?:the )?filing\b|\b(?:what|which) form\b"
    r"|\b(?:what|which) (?:fiscal )?(?:year|period) (?:does|is)\b",
    re.I,
)
# Markup, addresses and signs of markdown are no words to look for, and are not repeated to the reader.
_MARKUP = re.compile(
    r"<!--.*?-->|<(script|style)\b.*?</\1\s*>|</?[A-Za-z][^<>]*>|\b(?:https?://|www\.)\S+", re.S | re.I
)
_SIGNS = re.compile(r"[*`~^|\\<>{}\[\]=#]+|(?<!\w)_+|_+(?!\w)")
# Filings spell these out, and their letters are too short to look for.
_ABBREVIATIONS = (
    (re.compile(r"\bR&D\b", re.I), "research and development"),
    (re.compile(r"\bEPS\b"), "earnings per share"),
)
_OVERVIEW_WORDS = frozenset("business overview profile background introduction".split())  # noqa: SIM905
_MAX_QUERY_CHARS = 300


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
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
            bare = word[: -len(ending)]
            if len(bare) > 3 and bare[-1] == bare[-2] and bare[-1] not in "aeioulsz":
                bare = bare[:-1]  # a consonant doubled before the ending: planned, plan
            return bare + ("y" if ending in ("ies", "ied") else "")
    return word


def synonyms_of(stemmed: str) -> frozenset[str]:
    """Return the stems that mean about the same, without the word itself."""
    return _SYNONYMS_BY_STEM.get(stemmed, frozenset())


def _read_synonyms() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for line in _SYNONYMS.strip().splitlines():
        group = frozenset(map(stem, line.split()))
        for member in group:
            table[member] = table.get(member, frozenset()) | (group - {member})
    return table


_SYNONYMS_BY_STEM = _read_synonyms()


@dataclass(frozen=True, slots=True)
class Question:
    """``topics`` are the words that it is about; ``frames`` the words around them, which weigh little.

    ``names`` are whom it speaks of by possessive or as subject: companies, perhaps places. ``proper`` are the words
    with a capital inside a sentence. ``company`` is carried over from the question before.
    """

    text: str
    topics: tuple[str, ...]
    frames: tuple[str, ...]
    names: tuple[str, ...]
    years: frozenset[str]
    kind: AnswerKind
    proper: frozenset[str]
    company: str | None = None

    @property
    def is_small_talk(self) -> bool:
        """Nothing is asked that a filing could answer: a greeting, thanks, or a question about who answers."""
        if set(self.topics) - _SMALL_TALK or self.names or self.years:
            return False
        return not self.frames or self.is_about_analyst

    @property
    def is_about_analyst(self) -> bool:
        """It asks who or what answers."""
        return bool(_ABOUT_ITSELF.search(self.text))

    @property
    def asks_record(self) -> bool:
        """It asks what the record of a filing says: when it was filed, for which period."""
        return bool(_ASKS_RECORD.search(self.text))

    @property
    def compares(self) -> bool:
        """It asks about several companies side by side."""
        return bool(_COMPARES.search(self.text))

    @property
    def asks_twice(self) -> bool:
        """It asks a second thing after an *and*."""
        return bool(_ASKS_TWICE.search(self.text))

    @property
    def is_foreign(self) -> bool:
        """It is plainly in another language: by its script, or by little words where there are no English ones."""
        words = set(words_of(self.text))
        if len(re.findall(r"[\u0370-\u1fff\u2e80-\ud7ff\uf900-\ufaff]", self.text)) * 4 > len(self.text):
            return True
        return len(words & _FOREIGN_WORDS) > len(words & STOP_WORDS - _FOREIGN_WORDS)

    def is_overview(self, company: str) -> bool:
        """Whether nothing is asked about this company but what it is."""
        named = stems_of(company) | stems_of(" ".join(self.names))
        asked = {word for word in self.topics if stem(word) not in named} - _OVERVIEW_WORDS
        is_named = bool(first_word(company) & stems_of(self.text)) or self.company == company
        return not (asked or self.frames or self.years) and is_named and self.kind == "any"

    @property
    def query(self) -> str:
        """The words to search for, in order, each once, with the names of the question."""
        wanted = {*self.topics, *self.frames, *self.years, *words_of(" ".join(self.names))}
        words = re.findall(r"[^\s?!,;:()\"“”„«»¿¡？！、。]+", _MEASURE.sub(" ", self.text))
        chosen = [word.strip(".'’") for word in words if wanted.intersection(words_of(word))]
        present = {part for word in chosen for part in words_of(word)}
        chosen += [word for word in (*self.topics, *self.frames, *sorted(self.years)) if word not in present]
        return " ".join(dict.fromkeys(chosen))[:_MAX_QUERY_CHARS] or self.text[:_MAX_QUERY_CHARS]


def read_question(text: str) -> Question:
    """Understand a question by itself. Markup and a polite opening are passed over."""
    text = " ".join(_SIGNS.sub(" ", _MARKUP.sub(" ", text)).split())
    for abbreviation, meaning in _ABBREVIATIONS:
        text = abbreviation.sub(meaning, text)
    opening = _POLITE_OPENING.match(text)
    if opening and re.search(r"\w", text[opening.end() :]):
        text = text[opening.end() :]
    names = _names(text)
    named = stems_of(" ".join(names))
    words = [
        word
        for word in dict.fromkeys(words_of(_MEASURE.sub(" ", text)))
        if word not in STOP_WORDS and word not in years_of(text) and stem(word) not in named and len(word) > 1
    ]
    inner_capitals = {word for found in _INNER_CAPITAL.findall(text) for word in words_of(found)}
    return Question(
        text=text,
        topics=tuple(word for word in words if word not in FRAME_WORDS),
        frames=tuple(word for word in words if word in FRAME_WORDS),
        names=names,
        years=years_of(text),
        kind=next((kind for kind, pattern in _KINDS if pattern.search(text)), "any"),
        proper=frozenset(inner_capitals - STOP_WORDS),
    )


def first_word(company: str) -> frozenset[str]:
    """Return the stem of the first word of a company's name that is more than an article."""
    return frozenset(stem(word) for word in [word for word in words_of(company) if word not in ("the", "a")][:1])


def _names(text: str) -> tuple[str, ...]:
    found = [match.group(1) for pattern in (_POSSESSIVE, _SUBJECT) for match in pattern.finditer(text)]
    found += [match.group(1) for match in _LOWER_POSSESSIVE.finditer(text)]
    bare = _BARE_NAME.match(text)  # *And Amrum Lines?*
    found += [bare[1]] if bare and set(words_of(text)) - _SMALL_TALK else []
    if _COMPARES.search(text):
        found = [one for name in found for one in name.split(" and ")]
    names = []
    for name in found:
        # Words at the front may only look like a name because a sentence begins there.
        words = re.sub(r"['’]s$", "", name).split()
        while words and (words[0].lower() in STOP_WORDS or words[0].lower() in FRAME_WORDS or words[0].isdigit()):
            words = words[1:]
        names.append(" ".join(words).rstrip("."))
    return tuple(dict.fromkeys(name for name in names if name and not name.isdigit()))
