"""Whether a question is English: told by its little words, and by its script. Which other language is not told."""

from __future__ import annotations

import re

from chat.providers.analyst.words import STOP_WORDS, words_of

_LITTLE = frozenset(
    """
    wie viele viel wer wo warum wann welche welcher welches welchen ist sind hat haben hatte der das den dem des ein
    eine einen einem einer und oder nicht mit von für auf im zum zur über bei nach aus wird werden wurde wurden sich
    auch sein seine ihr ihre gibt es bitte vom beim gab macht
    quel quelle quels quelles est sont le la les du une et ou pour dans avec sur que qui combien pourquoi comment où
    quand ont été sa ses leur leurs au aux cette ces elle nous vous chez fait était en quoi
    qué cuál cuáles cuánto cuánta cuántos cuántas cómo dónde cuándo quién quiénes es el los las del con para su sus
    tiene tienen fue son por y una un cuanto cuantos como donde cuando tuvo
    quanti quante quanto quanta quale quali chi dove perché perche sono il lo gli della dello dei delle degli di nel
    nella è ha hanno più
    quantos quantas qual quais quem onde são os uma dos das pelo pela tem têm foi não teve
    hoeveel wat waar wanneer waarom welke hoe het een voor met zijn heeft hebben werd
    hur många vad är vem var när och hvor mange hvad hva er og
    ile jaki jakie jaka jest czy kto gdzie kiedy kaç nedir nerede
    """.split()  # noqa: SIM905
)
_QUESTION_WORDS = frozenset(
    """wie wieviel wieviele warum wann welche welcher welches quel quelle quels quelles combien pourquoi comment qué
    cuál cuáles cuánto cuántos cuántas cómo dónde cuándo quién quanti quante quanto quale quali dove quantos quantas
    quais quem onde hoeveel waarom wanneer welke hur hvor ile jaki jakie kaç nedir""".split()  # noqa: SIM905
)
_ALSO_ENGLISH = frozenset("an as die do even has he her in is man me no on so was war were".split())  # noqa: SIM905
_ELISION = re.compile(r"\b(?:qu|[dlnscjmt])['’](?=\w)", re.I)
_OTHER_SCRIPT = re.compile(r"[\u0370-\u1fff\u2e80-\ud7ff\uf900-\ufaff]")
FOREIGN_STOP_WORDS = _LITTLE | _QUESTION_WORDS


def is_foreign(text: str) -> bool:
    """Say whether a question is plainly in another language. A few words without any sign pass for English."""
    letters = re.findall(r"[^\W\d_]", text)
    if len(_OTHER_SCRIPT.findall(text)) * 4 > len(letters):
        return True
    words = words_of(without_elisions(text))
    others = sum(word in FOREIGN_STOP_WORDS and word not in _ALSO_ENGLISH for word in words)
    others += len(_ELISION.findall(text)) + 2 * ("¿" in text)
    english = sum(word in STOP_WORDS and (word not in _LITTLE) for word in words)
    asks = any(word in _QUESTION_WORDS for word in words)
    return others > english and (others >= 2 or (asks and not english))


def without_elisions(text: str) -> str:
    """Return a text with *d'Apple* as *Apple*."""
    return _ELISION.sub(" ", text)
