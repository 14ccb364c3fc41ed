"""Words: of sentences, of types, and how texts are divided into them."""

from __future__ import annotations


def wordset(text: str) -> frozenset[str]:
    """Return the words of ``text``."""
    return frozenset(text.split())


# Words end at white space; ideographs are written without it, so each is a word.
IDEOGRAPHS = "\u2e80-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"


def lower_case(text: str) -> str:
    """Return ``text`` in lower case, each letter at its place."""
    return text.replace("İ", "I").lower()  # no other letter changes its length


# As in schemas and forms.
TYPES_AND_EMPTY_VALUES = wordset(
    """
    str string text bytes bytearray int integer bool boolean float number any object none null nil undefined true
    false typeof keyof readonly dev non-default cannot
    optional required char varchar secretstr uuid void type var let const hidden password file example impl
    dyn ref range new await async make func function struct class email date array list dict map default empty blank
    unset off on yes no read write n/a tbd todo
    """
)
# Words with which a sentence about a password continues.
_SENTENCE_WORDS = wordset(
    """
    anders korrekt richtig zurückgesetzt geändert verschlüsselt scaduta scaduto errata corretta richiesta
    obbligatoria cambiata expiré expirée incorrecte oublié modifié nécessaire caducada caducado olvidada expirada
    vencida inválida erforderlich falsch nicht ungültig gespeichert geheim abgelaufen obligatoire requis obligatoria
    incorrecta requerida return pass raise elif match break continue print assert lambda a able about above
    mindestens muss müssen soll sollte darf kann wird wurde sind siehe bitte eingeben benötigt läuft liegt
    zurücksetzen vergessen ändern neu neues neue wurden policy policies rule rules manager page pages help guide
    link strength length hint hints accurate across after again against all allow allows already also always am an
    and another appropriate are as ask at back bad be because been before below best better between beyond big both
    but by can cannot case check choose click come common complex confidential contact correct could create critical
    crucial dead different difficult do does don't done down each easy either else enough enter essential even ever
    every few field find fine first for forgotten found from full get give given go good great had hard has have he
    held her here his how however i if important in incorrect inside instead into invalid is it its just keep kept
    key kind known lack last later least left less like local long longer lost low made main mandatory many may me
    mean meant might minimum more most much must my necessary need needs never next not now of often ok okay old
    once one only or other our out over own part passwords per perhaps please poor private provide public put quite
    rather reset right safe same see seem sent separate set several shall she short should shown similar simple
    since so some soon still store strong subject such sure take than that the their them then there these they this
    those through thus tied time to together token tokens too top under unique unknown unlike unsafe until up upon
    us use used user users uses valid value very via vital want was way we weak well were what when where whether
    which while who whose why will with within without worth would wrong yet you your strings numbers
    taken given known shown written made kept held passed
    um uma uns umas un una une uno unos unas os las los lo les des du de do dos das da le la el il gli een het der die
    das den dem ein eine einer einem einen eines ett och na por para pour per con com mit von vom zu zum zur auf für
    bei nach über unter als ohne aus durch oder und hat haben sein verwenden verwendet benutzt certains certaines
    algunos algunas alguns algumas cette cet ces este esta estas essa questo questa deze dit bir ve için ile bu sonraki
    que qui quando cuando quand como comme più mais mas pero però auch nur noch schon jest lub oraz dla nie
    """
)
_WORD_ENDINGS = ("ed", "ing", "able", "ible", "ly", "ful", "less", "ous", "tion", "ment", "ness", "ity", "ive", "ance")


def is_word(value: str) -> bool:
    """True for a word with which a sentence continues, such as "required" or "stored"."""
    low = value.lower().strip("'’")
    if "/" in low.strip("/"):
        return all(map(is_word, low.split("/")))  # "reset/changed"
    return (
        low in _SENTENCE_WORDS
        or low in TYPES_AND_EMPTY_VALUES
        or (low.isalpha() and len(low) > 4 and low.endswith(_WORD_ENDINGS))
    )
