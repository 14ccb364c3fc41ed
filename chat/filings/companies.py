# ruff: noqa: SIM905 - long word lists read best as text
"""Which stored company a name, or a question, means.

A registrant is known by the distinctive words of its name: *Home Depot*, *Northwind*. Words that many companies share,
and legal forms, say nothing. Case counts where the word is an ordinary one: *apple* in a sentence
with capitals is fruit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_LEGAL = frozenset(
    "inc incorporated corp corporation co company companies ltd limited llc lp llp plc nv sa ag se the and of & holding"
    " holdings group trust bancorp de com international technologies technology pharmaceutical pharmaceuticals".split()
)
_COMMON = frozenset(
    "home general first american america united national new bank global standard best capital energy power water gas"
    " electric health public great western eastern northern southern north south east west central pacific atlantic"
    " digital advanced applied international us world real royal old state city community federal financial insurance"
    " life motor motors data micro software systems solutions services service industries resources partners gold"
    " silver blue red green black white big super universal commercial consolidated allied associated".split()
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def named_in(text: str, companies: Iterable[str]) -> list[str]:
    """Return the companies that a question names, in the order in which it names them."""
    words = _WORD.findall(text)
    folded = [_fold(word) for word in words]
    is_cased = any(char.isupper() for char in text[1:])
    places = {
        company: place
        for company in companies
        if (place := _place(_core(company), words, folded, is_cased=is_cased)) is not None
    }
    return sorted(places, key=lambda company: (places[company], company))


def matching(name: str, companies: Iterable[str]) -> list[str]:
    """Return the companies that a given name means; none where no registrant is called so."""
    wanted = _core(name) or [_fold(word) for word in _WORD.findall(name)]
    found = [company for company in companies if wanted and _is_same(wanted, _core(company))]
    exact = [company for company in found if _core(company) == wanted]
    return exact or found


def _is_same(wanted: Sequence[str], core: Sequence[str]) -> bool:
    """One name begins the other, and not by a word that says nothing: *First* is no bank's name."""
    shared = min(len(wanted), len(core))
    if not shared or list(wanted[:shared]) != list(core[:shared]):
        return False
    return shared == len(core) or shared > 1 or core[0] not in _COMMON


def _place(core: Sequence[str], words: Sequence[str], folded: Sequence[str], *, is_cased: bool) -> int | None:
    if not core:
        return None
    needed = 1 if core[0] not in _COMMON else min(2, len(core))
    for place in range(len(folded) - needed + 1):
        if list(folded[place : place + needed]) != list(core[:needed]):
            continue
        if words[place][0].isupper() or words[place][0].isdigit() or not is_cased or needed > 1:
            return place
    return None


def _core(name: str) -> list[str]:
    words = [_fold(word) for word in _WORD.findall(re.sub(r"\b([A-Z])\.(?=[A-Z]\b)", r"\1", name))]
    return [word for word in words if word not in _LEGAL]


def _fold(word: str) -> str:
    """Fold case, possessive and apostrophe: *McDonald’s* and *mcdonalds* are one."""
    bare = re.sub(r"['’]s?$", "", word.lower().replace("’", "'")).replace("'", "")
    return bare[:-1] if len(bare) > 4 and bare.endswith("s") and not bare.endswith("ss") else bare
