"""Words, and tests for what looks like a secret value: each reads a bounded number of characters.

A rule that finds a name such as ``password`` asks here whether the value is worth hiding: "password is required" is a
sentence, "password is hunter2" is a leak.
"""

from __future__ import annotations

import re
from functools import lru_cache


def wordset(text: str) -> frozenset[str]:
    """Return the words of ``text``."""
    return frozenset(text.split())


# Words end at white space; ideographs are written without it, so each is a word.
IDEOGRAPHS = "\u2e80-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"


def lower_case(text: str) -> str:
    """Return ``text`` in lower case, each letter at its place."""
    return text.replace("İ", "I").lower()  # no other letter changes its length


# In JSON text a line's first word stands behind the n of an escaped line break.
ESCAPED_BREAK = r"(?:(?<=\\)[nrt])?"

WEAK_MIN_CHARS = 12  # of a value that alone makes a weak name a secret's
# Amounts, dates, quarters and algorithms look like passwords: letters and digits together.
_NUMBER_LIKE = re.compile(
    r"""(?xi)
      [$€£¥+\-~≈]?\d[\d,.:/%x–\-]*(?:%|k|m|b|bn|x|s|ms|st|nd|rd|th|am|pm|[gmk]b|[gmk]?hz|bit|bits|px|characters)?
    | 0x[\da-f]{1,16} | \d{1,6}(?:req|msg|rps|tok)?/(?:s|sec|min|h|hour|d|day|week|month|user|req)
    | (?:\d{1,4}(?:ms|[dhms])){2,4}
    | (?:FY|Q[1-4]|H[12]|CY)[-'\ ]?\d{2,4}(?:[-/]?(?:Q[1-4]|\d{2,4}))?
    | (?:ssh-)?(?:ed|aes|sha|rsa|md|tls|ssl|hs|rs|es|ps|dh|ecdsa|hmac|utf|base|pkcs|pbkdf|oauth|saml|v|http|ipv|wpa)
      [-_/]?\d[\d.\-]*(?:url)?-?(?:(?<=-)[a-z]{4,})?  # also "Base64-encoded"
    | argon2(?:id?|d)?
    """
)
# How often neighbours change their class separates random strings from words and numbers.
_RUN_OF_CLASS = re.compile("[0-9]++|[a-zß-öø-ÿ]++|[A-ZÀ-ÖØ-Þ]++|[^0-9a-zA-ZÀ-ÖØ-öø-ÿ]++")
MIXED_SIGN = re.compile(r"[^\W_a-zA-ZÀ-ÿ]|[!@#$%^&*+=~?]")  # what ``is_mixed`` asks for
_INNER_SYMBOL = re.compile(r"[!@#$%^&*+=~?](?!\Z)")
_ADDRESS = re.compile(r"[a-z][a-z0-9._-]{2,64}@[a-z][\w.-]{1,100}")
# Behind the language of a block of code, and behind a value that has a line of its own.
_FENCE_REST = re.compile(r"[ \t]{0,4}(?:\{[^\n]{0,80})?\r?(?:\n|\\n|\Z)")
_LINE_REST = re.compile(r"[\"'`*_\\,;.)\]}]{0,6}[ \t]{0,8}(?:\r?\n|\\[nr]|\Z|[<\"'(#])")
_POSSESSIVE = re.compile(r"[\"'`*_]{0,2}['’]s ")
# The name of a resource is public, whatever its parts look like.
_ARN = re.compile(r"(?<![a-z])(?:arn|urn|spotify|AWS):[\w:/.*\-]*\Z")
_MAX_ARN_CHARS = 200
NEXT_NAME = re.compile(r"[A-Za-z_][\w.\-]{0,40}(?:=(?!=|\Z)|:)")
_HEX = re.compile(r"[0-9a-fA-F]++")
_ISSUED = re.compile(r"[A-Za-z0-9]{16,}+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_MORE_OF_SENTENCE = re.compile(
    r" (?:[a-z]{1,3} )?\d{1,3} [^\W\d_]{4,}|<(?:[A-Z{]|\s*\n|[a-z]{2,12}>\()"
    r"| (?:Auth )?(?:passwords?|secrets?|tokens?|keys?|credentials?)(?![\w:=])"
    r"| \| (?:None|null|undefined|str|string)(?!\w)"
    r"| (?:&&|\|\||\?\?|[+?]|as) [\w\"'(\[!{]"
)
# Names, and what is no secret behind them: ports of a chip, versions, fields, the directory of a shell, numbers of
# sessions, digests of caches, names of stored secrets, names in the storage of a browser, schemes, ids of tokens, ids
# of keys of GnuPG (half a fingerprint or all of it).
_PUBLIC_BESIDE = (
    (
        re.compile(r"(?i)(?:(?<![a-z])|_)pin(?:_[a-z]{1,8})?\Z"),
        re.compile(r"(?:GPIO(?:_NUM)?|P[A-K]|[AD])_?\d{1,2}|[a-z][\w.\-]+[=~<>]{1,2}\d[\d.]*|[a-z]+(?:_[a-z]+)+"),
    ),
    (re.compile(r"\A(?:OLD)?PWD\Z"), re.compile(r"~?/.*")),
    (re.compile(r"(?i)\Akey\Z"), re.compile(r"[A-Za-z][\w.]{0,20}-(?:[\w.]{1,20}-){1,5}[0-9a-f]{64}")),
    (re.compile(r"(?i)session[ _-]?id\Z"), re.compile(r"\d{1,8}")),
    (re.compile(r"(?i)secret[_-]?id\Z"), re.compile(r"\d{1,8}|(?:[A-Za-z]{2,20}[/_.-])+[A-Za-z]{2,20}")),
    (
        re.compile(r"(?i)(?:session|storage|cookie|token)_?key\Z"),
        re.compile(r"@?(?:[A-Za-z_-]{1,16}[.:/])+[A-Za-z_-]{1,16}"),
    ),
    (
        re.compile(r"(?i)auth\Z"),
        re.compile(r"(?i)basic|bearer|digest|negotiate|ntlm|certificate|kerberos|plain|login|external|gssapi"),
    ),
    (
        re.compile(r"(?i:token|credentials?)(?i:[ _-]?id)\Z|[a-z]Secrets?Id\Z"),
        re.compile(r"(?i)(?:[a-z][\w.]{0,40}-){0,4}[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    ),
    (
        re.compile(r"(?i)(?:\A|(?:rsa|dsa|gpg|pgp)[ _]|recv-|export-)keys?\Z|signing ?key\Z"),
        re.compile(r"[0-9A-F]{16}(?:[0-9A-F]{24})?"),
    ),
)
_CODE_NAME = re.compile(r"[a-z]{5,}[A-Z_/.-][a-z]{4,}")
_LONG_PIECE = re.compile(r"[A-Za-z0-9]{20}")
# row_id_49, bert-base-3b, SO-2024-00917, user1SessionEnded, user:755186:cart, order#2026-01-31
JOINED_NAMES = re.compile(
    r"[a-z]+(?:[_-](?:[a-z]+|\d{1,4}[a-z]?))+|[A-Z]{1,5}(?:[_-](?:\d{1,8}|[A-Z]{1,3}))+"
    r"|(?:[a-z]{2,12}\d{0,2}|X\d{3})(?:[A-Z][a-z]{2,12}\d{0,2}){0,6}[A-Z][a-z]{2,12}"
    r"|[a-z]+(?:\.(?:[a-z]+|v\d)|[:#_-](?:[a-z]+|[a-z]?\d{1,9}(?![a-z\d])|\$?\{\w{1,24}\}|\*))+[:#]?"
)


def is_on_next_line(text: str, gap_start: int, start: int, end: int, value: str) -> bool:
    """True where a line break is between a name and ``text[start:end]``, and that line isn't a value alone.

    An empty value is followed by the next name, a block of code by its language.
    """
    gap = text[gap_start:start]
    if gap.endswith(("```", "~~~")) and _FENCE_REST.match(text, end):
        return True
    if "\n" not in gap and "\\n" not in gap:
        return False
    if NEXT_NAME.match(value):
        return True
    line = gap[gap.rfind("\n") + 1 :] if "\n" in gap else gap[gap.rfind("\\n") + 2 :]
    is_marked = bool(line.strip()) and not line.strip().startswith("- ")
    if _POSSESSIVE.match(text, end):
        return True  # the next prompt: "ann@host's password:"
    return not (_LINE_REST.match(text, end) and (is_marked or is_mixed(value) or is_random(value)))


def is_in_arn(text: str, start: int) -> bool:
    """True where the name of a resource goes on at ``start``."""
    return _ARN.search(text, max(start - _MAX_ARN_CHARS, 0), start) is not None


def is_number_like(value: str) -> bool:
    """True for numbers, dates, quarters and names of algorithms."""
    return _NUMBER_LIKE.fullmatch(value) is not None


def is_mixed(value: str) -> bool:
    """True for letters with digits or symbols, as in passwords; words have neither."""
    if len(value) < 5 or value.isalpha() or is_number_like(value):
        return False
    letters = any(map(str.isalpha, value))
    digits = any(map(str.isdigit, value))
    return (letters and digits) or (_INNER_SYMBOL.search(value) is not None and (letters or digits))


def is_mixed_value(_found: re.Match[str], value: str) -> bool:
    return is_mixed(value)


def is_random(value: str, *, min_chars: int = 16) -> bool:
    """True for a run of characters that no person would have chosen: an unlabelled key."""
    if len(value) < min_chars or value.isalpha() or is_number_like(value) or JOINED_NAMES.fullmatch(value[:128]):
        return False
    # A bounded part is enough to judge a value of any length.
    start = value[:128]
    digits = sum(map(str.isdigit, start))
    if not digits or digits == len(start):
        return False
    if digits >= 2 and _LONG_PIECE.search(start):
        return True
    return class_changes(start) >= 0.3 or _HEX.fullmatch(start) is not None


def is_issued(value: str) -> bool:
    """True for a run of 16 letters and digits or more, or a UUID: what a service gives out as a key."""
    found = _ISSUED.search(value[:256])
    return found is not None and sum(map(str.isdigit, found[0])) >= 2 and not _CODE_NAME.search(value[:256])


def class_changes(value: str) -> float:
    """Return the share of neighbours of different class (lower case, capital, digit, other), 0 to 1."""
    start = value[:256]
    return max(len(_RUN_OF_CLASS.findall(start)) - 1, 0) / max(len(start) - 1, 1)


def longest_piece(run: str) -> str:
    """Return the longest part without a separator: long in what machines make, short in names and paths."""
    return max(re.split(r"[^A-Za-z0-9]", run[:512]), key=len)


def is_address(value: str) -> bool:
    """True for ``name@host``."""
    return _ADDRESS.fullmatch(value) is not None


def is_public_beside(name: str, value: str) -> bool:
    """True for what anybody may read behind such a name: GPIO14 of a pin, the id of a token."""
    return any(values.fullmatch(value) for values in public_values(name))


@lru_cache(maxsize=512)
def public_values(name: str) -> tuple[re.Pattern[str], ...]:
    return tuple(values for names, values in _PUBLIC_BESIDE if names.search(name))


def continues_sentence(text: str, start: int, end: int) -> bool:
    """True where ``text[start:end]`` is a word, no value: "mínimo 8 caracteres"; the type in ``Promise<User>``."""
    return text[start:end].replace("_", "").isalpha() and _MORE_OF_SENTENCE.match(text, end) is not None


def strip_punctuation(value: str) -> str:
    """Return the value without the punctuation of the sentence behind it."""
    return value.rstrip(".,;:)]}\"'`*>").rstrip("\\")


# As in schemas and forms.
TYPES_AND_EMPTY_VALUES = wordset(
    """
    str string text bytes bytearray int integer bool boolean float number any object none null nil undefined true
    false typeof keyof readonly dev non-default cannot
    optional required char varchar secretstr uuid void type var let const hidden password file example impl
    dyn ref range new await async make func function struct class email date array list dict map default empty blank
    unset off on yes no read write n/a tbd todo try hover focus chararray charsequence securestring
    """
)
# Words with which a sentence about a password continues.
_SENTENCE_WORDS = wordset(
    """
    anders korrekt richtig zurückgesetzt geändert verschlüsselt scaduta scaduto errata corretta richiesta
    obbligatoria stata stato
    cambiata expiré expirée incorrecte oublié modifié nécessaire caducada caducado olvidada expirada
    vencida inválida erforderlich falsch nicht ungültig gespeichert geheim abgelaufen obligatoire requis obligatoria
    incorrecta requerida obrigatória form
    error warn return pass raise elif match break continue print assert lambda a able about above
    debe deben tiene tener puede renew revoke rotate replace review share update verify
    mindestens muss müssen soll sollte darf kann wird wurde sind siehe bitte eingeben benötigt läuft liegt
    zurücksetzen vergessen ändern neu neues neue wurden policy policies rule rules manager page pages help guide
    link strength length hint hints almost accurate across after again against all allow allows already also always
    am an
    and another appropriate are as ask at back bad be because been before below best better between beyond big both
    but by can cannot case check choose click come common complex confidential contact correct could create critical
    crucial dead different difficult do does don't done down each easy either else enough ensure enter essential even
    ever every few field find fine first for forgotten found from full get give given go good great had hard has have he
    held her here his how however i if important in incorrect inside instead into invalid is it its just keep kept
    key kind known lack last later least left less like local long longer lost low made main mandatory many may me
    mean meant might minimum more most much must my necessary need needs never next not now of often ok okay old
    once one only or other our out over own part passwords per perhaps please poor private provide public put quite
    rather reset right safe same see seem sent separate set several shall she short should shown similar simple
    since so some soon still store strong subject such sure take than that the their them then there these they this
    those through thus tied time to together token tokens too top under unique unknown unlike unsafe until up upon
    us use used user users uses valid value very via vital want was way we weak well were what when where whether
    which while who whose why will with within without worth would wrong yet you your strings numbers
    bound bought brought broken built chosen drawn frozen hidden laid led lent met paid proven read sold spent split
    spread stolen taught thrown understood
    taken given known shown written made kept held passed terminal two three four five six seven eight nine ten twelve
    um uma uns umas un una une uno unos unas os las los lo les des du de do dos das da le la el il gli een het der die
    das den dem ein eine einer einem einen eines ett och na por para pour per con com mit von vom zu zum zur auf für
    bei nach über unter als ohne aus durch oder und hat haben sein verwenden verwendet benutzt certains certaines
    algunos algunas alguns algumas cette cet ces este esta estas essa questo questa deze dit bir ve için ile bu sonraki
    que qui quando cuando quand como comme più mais mas pero però auch nur noch schon jest lub oraz dla nie
    wymagane zmienione nieprawidłowe błędne wygasło ukryte povinné nesprávné chybné změněno vypršelo skryté pakollinen
    vaaditaan väärä vanhentunut kötelező hibás helytelen zorunlu gerekli yanlış hatalı krävs obligatoriskt felaktigt
    verlopen onjuist verplicht vereist gewijzigd ongeldig vergeten zwak leeg kort ingesteld hoofdlettergevoelig
    unsicher leer veraltet schwach stark kurz bekannt gesperrt freiwillig optional gleich invalide vide faible trop
    identique changé réinitialisé périmé débil vacía vacio opcional corta válida cambiada bloqueada sbagliata debole
    vuota valida invalida dimenticata corta sicura incorreta fraca vazia opcional curta alterada bloqueada esquecida
    puste słabe krótkie prázdné slabé svagt tomt ogiltigt ugyldig utløpt udløbet svakt virheellinen liian geçersiz
    boş zayıf incorectă expirată obligatorie invalidă недействителен пустой слабый устарел истёк истек plain non
    påkrævet forkert påkrevd feil обязателен обязательно неверный неверно изменён скрыт
    """
)
_WORD_ENDINGS = ("ed", "ing", "able", "ible", "ly", "ful", "less", "ous", "tion", "ment", "ness", "ity", "ive", "ance")


def is_word(value: str) -> bool:
    """True for a word with which a sentence continues, such as "required" or "stored"."""
    low = value.lower().strip("'’[?!")
    first, _, last = low.partition("-")
    if first.isalpha() and last.isalpha():  # "case-sensitive", "too-short"
        return (len(last) > 4 and last.endswith(_WORD_ENDINGS)) or (is_word(first) and is_word(last))
    if "/" in low.strip("/"):
        return all(map(is_word, low.split("/")))  # "reset/changed"
    return (
        low in _SENTENCE_WORDS
        or low.removesuffix("s") in _SENTENCE_WORDS  # "provides"
        or low in TYPES_AND_EMPTY_VALUES
        or (low.isalpha() and len(low) > 4 and low.endswith(_WORD_ENDINGS))
    )
