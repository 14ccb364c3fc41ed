"""Secrets in sentences: "the password for the admin account is …", "log in as … with password …", seed phrases.

English and German sentences have patterns of their own. In any language a value that looks like no word is masked up to
eight words behind a word for a password; without a verb or a mark before it, only if it looks like nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from string import digits
from typing import Final

from reasoning.redaction.allowlist import OPEN_MASK, is_expression, is_harmless
from reasoning.redaction.classify import (
    FOREIGN_PASSWORD_WORDS,
    SECRET_PAIRS,
    SECRET_WORDS,
    KeyKind,
    classify,
    singular,
)
from reasoning.redaction.rules import Rule, Span, Trigger, next_words, pattern_rule
from reasoning.redaction.values import (
    JOINED_NAMES,
    MIXED_SIGN,
    class_changes,
    continues_sentence,
    is_address,
    is_in_arn,
    is_mixed,
    is_mixed_value,
    is_number_like,
    is_on_next_line,
    is_public_beside,
    is_random,
    is_word,
    lower_case,
    strip_punctuation,
    wordset,
)

# Words that hold a sentence together; a passphrase of ordinary words has none of them.
_GRAMMAR_WORDS = wordset(
    """
    a all an and any are as at be been but by can case change always choose click contain contains do each enter
    every field for from has have here if in into is it its leave letters longer may minimum more must need
    needs never new not of on one only optional or our please provide require required requires same shall
    should some stored than that the their them then there these they this to type use used user users uses using
    was when which will with without you
    al avec avez celui che con dans de del des die dieser een el elle est et für het la las le les los mit niet nicht
    no non oder ou para per por pour qu que quel si sind son sur toda toute tous un una und une van vom von voor vous
    your characters
    """
)
# First words of names such as "access token".
PUBLIC_WORDS = wordset(
    "public address program peer fingerprint thumbprint sum checksum digest cid etag uid cert certificate"
)  # behind which a random value is no secret
QUALIFIERS: Final = frozenset(first for first, _ in SECRET_PAIRS) | wordset(
    "time refresh connection your mot door gate alarm entry unlock confirmation sms"
)
# Names of what people choose, which may be ordinary words. Behind the first ones a whole sentence of them may be the
# value, because the words that hold a sentence together are known in these languages.
_PASSPHRASE_NAME = re.compile(r"(?i)pass|pwd|mdp|kennwort|contrase|senha|wachtwoord|psk|pre-?shared|answer|pw\Z")
_OTHER_MEANINGS = wordset("clave losung parola ww κωδικός κωδικο khẩu sandi")  # a key, a slogan, a word, a code
_FOREIGN_NAMES = "|".join(sorted(FOREIGN_PASSWORD_WORDS - _OTHER_MEANINGS))
PASSWORD_NAME: Final = re.compile(rf"{_PASSPHRASE_NAME.pattern}|(?<![^\W_])(?:{_FOREIGN_NAMES})(?![^\W_])")
# A key or a token is never three digits; a PIN or a code is.
_DIGITS_NAME = re.compile(r"(?i)pin|puk|otp|cv[vc]|code|pass|pwd|2fa|mfa|kennwort")
# Words with ordinary meanings: "the key is that margins rose".
_PLAIN_NAMES = wordset("token secret key credential auth schlüssel geheimni")
FOR_SOMETHING: Final = (  # "for the admin account", "vom Server"
    r"(?:\s{1,4}(?:for|of|to|on|in|at|from|per|für|von|vom|des|der|zum|zur|im|am|pour|de|du|para|del|di|della|do|da|dell['’]\w{1,20}"
    r"|van|voor)(?:\s{1,4}\S{0,59}[^\s.!?;:=]){0,5}?)?"
)
# A word, which may be a name: "client_secret", "WLAN-Schlüssel"; and what may qualify it: "api" of "api key".
_NAME = re.compile(r"(?<![\w\-])[^\W\d_][\w\-/]{1,40}+")
_QUALIFIER = re.compile(rf"(?i)(?<![\w\-])(?:(?:{'|'.join(sorted(QUALIFIERS | PUBLIC_WORDS))})[ ]){{1,2}}\Z")
_QUALIFIER_ENDINGS = tuple(f"{word} " for word in QUALIFIERS | PUBLIC_WORDS)  # quicker to see than the pattern
_MAX_QUALIFIER_CHARS = 26
_IS = (
    r"(?:(?:has[ ]been[ ]|was[ ]|is[ ]|been[ ])?(?:changed|set|reset|updated|rotated)[ ]"
    r"(?:(?:from[ ][a-z\[\]]{1,40}[ ])?(?:to|->|→)|from)|wurde[ ](?:auf|zu)"
    r"|(?:è[ ]stat[ao]|a[ ]été|ha[ ]sido|foi|is|werd)[ ](?:cambiat|modificat|(?:re)?impostat|chang|modifi|réinitialis"
    r"|cambiad|restablecid|alterad|redefinid|gewijzigd|veranderd)\w{0,2}[ ](?:in|en|a|à|para|por|per|naar)"
    r"|is|was|are|will[ ]be|should[ ]be|must[ ]be|becomes?|became|remains|equals"
    r"|(?:ist|lautet|heißt)(?:[ ](?:jetzt|nun))?|est|es|è|é)"
)
_IS_VALUE = re.compile(  # "… for bob is …"
    rf"[\"'`*]{{0,4}}(?:[ ]\([^()\n]{{1,30}}\))?{FOR_SOMETHING}"
    rf"(?:\s{{1,4}}{_IS}"
    rf"(?:\s{{1,4}}(?:now|still|übrigens|derzeit|aktuell|weiterhin"
    rf"|set[ ]to|currently|simply|just|as[ ]follows|the[ ]following|called))?[ ]?:?"
    rf"|[ ]?[:=])\s{{1,4}}(?P<open>[\"'`*(„“”]{{0,4}})(?P<value>[^\s\"'`<>\\]{{1,256}}+)"
)
_THEN_VALUE = re.compile(  # "use the password …", "root's password …", or in columns
    rf"(?:['’]s|[\"'`*]{{0,4}},?)(?:{FOR_SOMETHING}\s{{1,4}}to|[ ](?:от|для|від|do|na|ke?)[ ][^\W\d_]{{2,16}})?"
    r"(?:\s{1,4}|[ ]{5,40}(?=\S{3,256}+(?! )))"
    r"(?:(?:to|use|enter|type|try|ascii(?:-text)?|\d)\s{1,4}){0,2}[\"'`*(\[]{0,4}(?P<value>[^\s\"'`<>\\]{3,256}+)(?![\"']\s{0,2}:)"
)
# A code of a door or a login; others (status, postal, industry) are public.
_CODE_WORDS = (
    r"(?:(?:one-time|[2m]fa|otp|verification|security|access|login|sms|auth\w{0,12}|confirmation|your|door|gate|alarm|entry|unlock"
    r"|pin|tan)[ -]?(?:pass)?code"
    r"|(?:bestätigungs|sicherheits|zugangs|anmelde|einmal|verifizierungs|freischalt|aktivierungs|(?:ent)?sperr|tür|zutritts|alarm|deur|kluis|toegangs)-?code"
    r"|c(?:ode|ódigo|odice)[ ](?:d(?:['’]|(?:[eiu]|el|es|ella)(?:[ ]|[ ]?l[a'’][ ]?)))?(?:v[ée]rif|confirm|s[ée][cg]ur"
    r"|acc|immeub|port|puert|badge|entr|alarm|allarm|carte|cassaf|garage|casa|caja|cancell|coffre)\w{0,12})"
)
_SEED_PHRASE = re.compile(
    r"(?i)(?:passphrase|mnemonic|(?:seed|recovery|backup|secret)\s{1,2}(?:phrase|words?)"
    r"|seed(?:\s{1,2}(?:for|of)(?:\s{1,2}\w{1,12}){1,4}?)?(?=:))[\"'`*]{0,4}(?:\s{1,4}(?:is|was|are))?"
    r"\s{0,4}[:=]?[\s\"'`*(]{0,6}(?P<value>(?:(?:\d{1,2}[.)]\s?)?[a-z]{3,10}[\s,\-]{1,3}){5,25}[a-z]{3,10})"
)
_WORD_PASSPHRASE = re.compile(r"[a-z]{3,12}(?: [a-z]{3,12}){3,7}(?![\w'])")
_AND = r"(?:[ ](?:and|und|et|y|e|&|/)[ ]|,[ ])"
_SPACED_BASE32 = re.compile(r"[A-Za-z2-7]{4}(?: [A-Za-z2-7]{4}){3,15}(?!\w)")
_LABEL_ENDINGS = ("password", "passwort", "secret", "token")
_HEADER = re.compile(r"(?i)(?:set-cookie|cookie|(?:proxy-)?authorization)[\"'`]{0,2}\s?[:=]")
# The next name, which is judged by itself; and one of code.
_VARIABLE = re.compile(
    r"[A-Z][A-Z\d]*_[A-Z\d_]+=|[a-z]{2,}\d?(?:[-_][a-z\d]+)+=|[a-z][A-Za-z]{2,}=(?:[\[({]|\Z)|[a-z.-]+[/.][a-z-]+=|[a-z]\w{1,24}=[a-z_]+(?!\S)|[a-z]+\d*(?:_[a-z\d]+){2,}(?!\S)"
    r"|[a-z][\w./-]*:\d{1,2}(?![\w:])"  # of an image
)
# Behind these words is an id, a digest or a place.
_BEFORE_PUBLIC = re.compile(
    r"(?i)--?[a-z\-]{0,24}(?:id|tenant|subscription|project|region|zone)=?|[(\[]?(?:[a-z]{2,16}[_-])?id[:=]?"
    r"|[\w./\-]{0,60}(?:hash|digest|checksum|revision)[:=]"
)
# A name, and within a few words of the same sentence a value: "mot de passe du wifi : …", "the password? I think …".
_NEARBY_NAME = re.compile(  # in lower case
    rf"(?=[jpcstl{''.join(sorted({word[0] for word in FOREIGN_PASSWORD_WORDS}))}])(?:"
    r"pass(?:w|ph|code)|pwd(?![a-z])|(?<!\d)pw(?![a-z0-9])|contrase"
    r"|(?P<plain>pass(?![a-z])|secret(?! (?:generic|tls|docker-registry)[ ])|token|jeton|credential|log(?:ged)?[ ]?in)"
    rf"|(?<!\w)(?:{'|'.join(map(re.escape, sorted(FOREIGN_PASSWORD_WORDS)))})(?!\w))"
)
_NEARBY = re.compile(r"[^\s\"'`<>]{0,24}+(?P<words>(?:[ \t]{1,4}[^\s<>]{1,80}(?<![.])){0,7}[ \t]{1,4}[^\s<>]{1,256})")
_NOT_BLANK = re.compile(r"\S+")
_RESOURCE = re.compile(r"[a-z]{2,}(?:-(?:[a-z]{2,}|[a-z\d]{3,6})){1,6}")  # of a cluster: "db-creds-7f9c"
_FIELD = re.compile(r"(?:kid|alg|ttl|id|type|size|scope)=")  # of what is said of a key
_MORE_WORDS = re.compile(r" (?!(?:y|e|ed|et|und|en|i|och|og)\s)[a-zß-öø-ÿ]{2,24}(?=[\s.,;:!?])")  # but "maple and …"
_CELL_REST = re.compile(r"[a-z]+\|[A-Za-z]")  # of a table
_WHOLE_NAME = re.compile(r"[\w./\-]+\Z")
_REST_OF_NAME = re.compile(r"[\w./\-]*\w")
_COMPOUND = re.compile(r"[_/\d]|[a-z][A-Z]")
_NO_PASSWORD = re.compile(
    r"^[$#=|-]|^X-[A-Za-z]|[:=(){}\[\]|<>\"',;/](?!\Z)|^\.?[A-Za-z_]+\d?(?:\.[A-Za-z_]\w*)+$"
    r"|_[a-z\d]{1,20}\(\Z|^[A-Z][A-Za-z]{1,12}\d[A-Z][A-Za-z]+$|^(?:[A-Z][a-z]+){1,2}[A-Z]\d$"  # OAuth2Client, SigV4
)
# As no name of a system has them: Velvet7064, Sunset94+, gr33nTurtle.
_CHOSEN = re.compile(r".*(?:\d[!@#$%^&*~?]|[!#$%^&*?]\d).*|[^_./\-]*(?:\d{3}|[A-Za-z]\d{1,2}[a-z])[^_./\-]*")
_SYMBOL = re.compile(r"[A-Za-z0-9][!@#$%^&*+~?]")
_COPULAS = wordset(
    """
    is it's was are be to use type enter dazu dafür ist sind war lautet heißt luidt wordt est sera es era será è é sarà
    jest brzmi je zní är er var on este e είναι это є це là adalah هي هو היא nimm nehmt verwende verwenden benutze
    einfach benutzen c'est c’est utilise utilisez usa usar gebruik użyj
    """
)


# "pass" is a verb as well: "tests pass: lint". Beside the name of a user it is a password.
_VERB = re.compile(r"(?i)(?:\A|[^\w.\-])pass(?: \d{1,2})?\Z")
_USER = re.compile(  # in lower case, so that a search can skip to the first letters
    r"(?:user|login|name|email|mail|account|host|admin|root|wi-?fi|ssid)"
    r"(?:[\w\-]{0,12}\W[^\n]{0,80}|(?<=user)(?:name)?[\"']?[:=][^\n]{1,80}\n[\s\"']{0,16})\Z"
)
_USER_BEHIND = re.compile(r"(?i)[,;]?[ ](?:user(?:name)?|benutzer)[:=]")
_CHOSEN_WORD = re.compile(r"[a-z]{5,16}\d{1,4}|(?:[A-Z][a-z]{3,16}){1,2}\d{2,4}")
_WORD_AND_NUMBER = re.compile(r"(?:[A-Za-z]+[-_./]?)*+\d{0,2}|\d{1,6}")  # or a file
_OTHER_COUNT = re.compile(r"(?i)\W{1,3}(?:fail|skip|error|warn)")


def is_verb(name: str, value: str, text: str, start: int) -> bool:
    """True where the name at ``start`` is "pass", beside which no user's name is, and ``value`` a word."""
    is_pass = _VERB.search(name) and _WORD_AND_NUMBER.fullmatch(value[:64])
    if is_pass and name == "pass" and _CHOSEN_WORD.fullmatch(value):
        return False  # "pass: hunter2", but not "tests pass: py311"
    end = text.find(value, start) + len(value)
    if is_pass and _OTHER_COUNT.match(text, end):
        return True  # "pass: 212, fail: 3"
    before = lower_case(text[max(start - 100, 0) : start]) if is_pass else ""
    return bool(is_pass) and not (_USER.search(before) or _USER_BEHIND.match(text, end))


def continues_in_words(name: str, value: str, text: str, end: int) -> bool:
    """True for a word behind a name of another language that more words follow: "es demasiado corta".

    Of English the words are known with which a sentence continues (``is_word``).
    """
    is_foreign = not FOREIGN_PASSWORD_WORDS.isdisjoint(name.lower().split())
    return is_foreign and value.isalpha() and _MORE_WORDS.match(text, end) is not None


def is_label(value: str) -> bool:
    """True for letters alone, with a word for a secret among them: "Passwort vergessen?", "mysecretpassword"."""
    words = value.rstrip("?!.:").split()
    return (
        0 < len(words) <= 5
        and all(word.isalpha() for word in words)
        and any(singular(word.lower()) in SECRET_WORDS or word.lower().endswith(_LABEL_ENDINGS) for word in words)
    )


def accepts_digits(name: str) -> bool:
    """True for names whose value may be all digits: a PIN, a code, a password."""
    return _DIGITS_NAME.search(name) is not None


def find_word_passphrase(name: str, text: str, start: int) -> Span | None:
    """Return a passphrase of ordinary words that begins at ``start``, or groups of Base32: "k5uv lzi2 mngf hxhf"."""
    found = _PASSPHRASE_NAME.search(name) and _WORD_PASSPHRASE.match(text, start)
    if found and not _GRAMMAR_WORDS.isdisjoint(found.group().split()):
        found = None
    groups = None if found else _SPACED_BASE32.match(text, start)
    if groups and any(map(str.isdigit, groups.group())):  # others are words of four letters
        found = groups
    return Span(start, found.end()) if found else None


def find_stated(text: str, start: int) -> Iterator[Span]:
    """Find what "the password is …", "the API key …" state."""
    may_be_mixed = MIXED_SIGN.search(text, start)
    for word in _NAME.finditer(text, start):
        if classify(word.group().replace("/", "")) not in (KeyKind.SECRET, KeyKind.WEAK):
            continue
        is_header = _HEADER.match(text, word.start()) is not None  # whose value has a rule of its own
        stated = None if is_header else _IS_VALUE.match(text, word.end())
        behind = _THEN_VALUE.match(text, word.end())
        is_stated = stated and not stated["value"].startswith(OPEN_MASK)
        if not is_stated and (not behind or strip_punctuation(behind["value"]).isalpha()):
            continue  # as most names
        # Other words before the name may be gone by now.
        first = max(word.start() - _MAX_QUALIFIER_CHARS, 0)
        is_qualified = lower_case(text[first : word.start()]).endswith(_QUALIFIER_ENDINGS)
        qualifier = is_qualified and _QUALIFIER.search(text, first, word.start())
        name = text[qualifier.start() if qualifier else word.start() : word.end()]
        is_vague = not may_be_mixed and is_plain_name(name)
        if is_vague or classify(name) is KeyKind.NONE or is_in_arn(text, word.start()):
            continue
        if stated:
            start, value = stated.start("value"), strip_punctuation(stated["value"])
            end = start + len(value)
            if (
                is_on_next_line(text, word.end(), start, end, value)
                or continues_sentence(text, start, end)
                or continues_in_words(name, value, text, end)
            ):
                continue
            is_quoted = bool(stated["open"].strip("(")) and stated["open"][-2:] not in ("''", '""')  # ''.join(letters)
            if phrase := find_word_passphrase(name, text, start):
                yield phrase
            elif is_verb(name, value, text, word.start()) or is_label(quoted_text(text, stated, value)):
                continue
            elif is_stated_value(name, value, quoted=is_quoted) and not is_harmless(value):
                yield Span(start, start + len(value))
        if behind:
            start, value = behind.start("value"), strip_punctuation(behind["value"])
            if (
                is_value_behind_name(name, value)
                and not is_on_next_line(text, word.end(), start, start + len(value), value)
                and not is_verb(name, value, text, word.start())
                and not is_harmless(value)
            ):
                yield Span(start, start + len(value))


def quoted_text(text: str, found: re.Match[str], value: str) -> str:
    """Return what is in the quotes that open before ``value``; ``value`` where none do, or none closes them."""
    start, quote = found.start("value"), found["open"][-1:]
    end = text.find(quote, start, start + 80) if quote and quote in "\"'`" else -1
    return value if end < 0 else text[start:end]


def is_stated_value(name: str, value: str, *, quoted: bool) -> bool:
    """True where "the ``name`` is ``value``" reveals the secret rather than describes it."""
    if value.isdigit():
        return len(value) >= 3 and accepts_digits(name) and classify(name) is KeyKind.SECRET
    if is_public_beside(name, value):
        return False
    if is_expression(value) and not (quoted and ("(" not in value or PASSWORD_NAME.search(name))):
        return False
    if is_plain_name(name):
        # Behind "the key is" or "the token is" it is the number of an order.
        is_number = value.isupper() and is_mixed(value) and sum(map(str.isdigit, value)) > max(len(value) / 2, 6)
        if is_number and name.lower().endswith("secret"):
            return True
        return is_random(value, min_chars=10) or (
            quoted and is_mixed(value) and len(value) >= 8 and not JOINED_NAMES.fullmatch(value[:128])
        )
    if is_word(value) or is_number_like(value):
        return False
    if PASSWORD_NAME.search(name):
        is_variable = value.replace("_", "").isalpha() and (
            "_" in value or (not value.islower() and classify(value) is KeyKind.SECRET)
        )
        return len(value) >= 3 and not is_variable
    return is_mixed(value) or (len(value) >= 12 and is_no_identifier(value)) or is_random(value)


def is_plain_name(name: str) -> bool:
    """True for a name with other meanings: "the key", but not "the API key"."""
    *others, last = name.split()
    is_qualified = bool(others) and others[-1].lower() in QUALIFIERS
    return not is_qualified and (
        classify(last) is KeyKind.WEAK or last.lower().rstrip("s") in _PLAIN_NAMES or last.endswith("Auth")
    )


def is_value_behind_name(name: str, value: str) -> bool:
    if not value or value.isalpha():
        return False
    is_verb_pin = name.lower() == "pin" and not value.isdigit()  # "pin urllib3 to …"
    if (
        value[0] in "=:|-("
        or _CELL_REST.match(value)
        or _FIELD.match(value)
        or is_verb_pin
        or _VARIABLE.match(value)
        or is_public_beside(name, value)
        or is_expression(value)
    ):
        return False
    if is_plain_name(name):
        return is_random(value, min_chars=12) and not _RESOURCE.fullmatch(value)
    is_ticket = JOINED_NAMES.fullmatch(value[:128]) and not PASSWORD_NAME.search(name)
    return is_random(value, min_chars=12) or (is_mixed(value) and not is_ticket and not value.startswith(("$", "#")))


def find_nearby(text: str, start: int) -> Iterator[Span]:
    """Find a value in the sentence of its name, whatever words are between them."""
    judged = cache(judge_nearby)  # of this text alone: a word is near several names
    for name in _NEARBY_NAME.finditer(lower_case(text), start):
        around = _NEARBY.match(text, name.end())
        rest = text[name.end() : around.start("words")] if around else ""
        is_announced, is_public = not name["plain"], _BEFORE_PUBLIC.fullmatch(rest) is not None
        for word in _NOT_BLANK.finditer(text, *around.span("words")) if around else ():
            if "[redacted" in word.group():
                break  # a second redaction would look further than the first
            value, precedes_public, announces = judged(word.group())
            if (
                value
                and not is_public
                and (is_announced or is_chosen(value))
                and not (name["plain"] and _RESOURCE.fullmatch(value))
                and not is_verb(name.group(), "", text, name.start())
                and not is_part_of_name(text, name)
                and not is_harmless(value.rstrip("?"))
            ):
                start = text.index(value, word.start())
                yield Span(start, start + len(value))
                break
            is_public, is_announced = precedes_public, announces and not name["plain"]


def judge_nearby(word: str) -> tuple[str, bool, bool]:
    """Return what may be a password in a word, "" for nothing; and whether an id or a password may follow the word."""
    value = strip_punctuation(word.lstrip("\"'`*_«„“(["))
    is_odd = is_mixed(value) and not (_NO_PASSWORD.search(value) or is_address(value) or is_expression(value))
    # "das Passwort dafür ist": only behind a verb or a mark any mixture is a password.
    announces = word[-1] in ":=?→—–-«“„" or word.lower() in _COPULAS
    return value if is_odd else "", _BEFORE_PUBLIC.fullmatch(word) is not None, announces


def is_part_of_name(text: str, name: re.Match[str]) -> bool:
    """True within a longer name that is no secret's: "password_encryption", "checksum/secret", "secretmanager-v1"."""
    whole = _WHOLE_NAME.search(text, max(name.start() - 40, 0), name.start())
    rest = _REST_OF_NAME.match(text, name.end())
    shown = (whole[0] if whole else "") + text[name.start() : rest.end() if rest else name.end()]
    return _COMPOUND.search(shown) is not None and classify(shown) is KeyKind.NONE


def is_no_identifier(value: str) -> bool:
    """True for ASCII that is neither lower case nor words in camel case."""
    is_camel_case = value.isalpha() and class_changes(value) < 0.3
    return value.isascii() and not value.islower() and not is_camel_case


def is_chosen(value: str) -> bool:
    """True for a value that no word of a sentence resembles."""
    if is_random(value, min_chars=12):
        return True
    return len(value) >= 8 and any(map(str.isdigit, value)) and _SYMBOL.search(value) is not None


def find_seed_phrases(text: str, start: int) -> Iterator[Span]:
    for found in _SEED_PHRASE.finditer(text, start):
        words = re.findall(r"[A-Za-z]+", found["value"])
        if len(set(words)) < 4:
            continue  # "abandon abandon …", the example of the standard
        if len(words) >= 11 or (len(words) >= 6 and not any(map(is_word, words))):
            yield Span(*found.span("value"))


TRIGGERS: Final = (
    Trigger(
        "phrase",
        wordset("passphrase mnemonic phrase words word seed"),
        window=re.compile(
            r"(?i)(?:\s(?:for|of)(?:\s\w{1,12}+){1,4}+)?+[\"'`*]{0,4}+(?:\s{1,4}+(?:is|was|are))?+\s{0,4}+[:=]?+[\s\"'`*(]{0,6}+"
            r"(?:(?:\d{1,2}[.)]\s?+)?+[a-z]{2,12}+(?![a-z])[\s,\-]{0,3}+){0,26}+"
        ),
        needs=re.compile(
            r"(?i)passphrase|mnemonic|(?:seed|recovery|backup|secret)\s{1,2}(?:phrase|word)|seed[^:\n]{0,60}:"
        ),
    ),
    Trigger(
        "login",
        wordset(
            "login log credential credentials creds zugangsdaten anmeldedaten anmeldung anmelden einloggen logge melde"
            " zugang logged sign signed identifiants credenciales credenciais credenziali inloggegevens"
        ),
        window=next_words(9),
        needs=re.compile(r"[\d!@#$%^&*+=~?']"),
    ),
    # What is said of a user belongs to the window of the password behind it, too.
    Trigger("user", wordset("u user username userid account machine benutzer benutzername"), window=next_words(9)),
    Trigger(
        "user",
        wordset("use try admin administrator root nutze nimm verwende benutze"),
        window=re.compile(
            r"[\"'`*]{0,3}+(?:\s(?:/(?:\s\S*+)?+|[\"'`*]{0,3}+[a-z][a-z.@\-]{1,64}+[\"'`*]{0,3}+(?:\s(?:/(?:\s\S*+)?+)?+)?+)?+)?+"
        ),
    ),
    Trigger(
        "odd",
        marks=f"{digits}@!^$",  # a word with a digit or a symbol in it, as passwords have; its name may follow
        shape=r"[\d@!^$*#%&+~?=](?:(?<=\d)(?:(?<=[A-Za-z]{2}.)|(?<=[a-z]{2}-.)|[A-Za-z]{2}"
        r"|(?<![\w.,$€/-].)(?!(?:(?<=1)9|(?<=2)0)\d\d(?!\d))\d{3,7}(?![\w.,])|(?<=[A-Z]-.)\d{3,7})"
        r"|(?<=[@!^])[A-Za-z0-9]|(?<=[A-Za-z][*#%&+~$?=])\d|(?<=\$)[a-z])",
        window=re.compile(
            r"\S*+(?:\s{1,4}+(?:(?:is|as|for|into|was|als|ist|lautet|comme|como|come|est|es|è|when|if)(?:\s{1,4}+\S*+){0,8}+"
            r"|(?:->|→|/)(?:\s{1,4}+\S*+)?+)?+)?+"
        ),
        needs=re.compile(
            r"@|(?::[^:\s]{1,128}+){4}|\s(?:is|as|for|into|was|als|ist|lautet|comme|como|come|est|es|è|when|if)\s"
        ),
    ),
    Trigger(
        "cjk",
        frozenset("密口令パ验驗认認確"),  # with which the words for a password begin
        shape="[비암인]|รหัสผ่าน|पासवर्ड",
        marks="비암인รप",
        window=re.compile(r"[^\s!-~]{0,12}+\s{0,2}+(?:[^\s!-~]{1,12}+\s{0,2}+)?+[:=]?+\s{0,2}+[\"'`「“]?+[!-~]{0,64}+"),
    ),
)
RULES: Final = (
    Rule(
        "stated secret",
        frozenset({"name"}),
        ("The password for the admin is {password}.", "The password for the admin is stored in the vault."),
        find_stated,
    ),
    pattern_rule(
        "code",
        "name",
        ("Your verification code is {}.\t493817", "status code 404, exit code 137"),
        rf"(?<![^\W\d_])(?:(?i:{_CODE_WORDS})|OTP|TAN|PIN(?: number)?|PUK|(?i:cv[cv]2?))"
        rf"[\"'`*]{{0,3}}(?:{FOR_SOMETHING}(?=\s{{1,4}}(?:is|was|ist|lautet|est|es|è)\s|\s?:))?"
        r"(?:,?\s{1,4}(?:is|was|ist|lautet|est|es|è|c['’]est)(?:\s{1,4}(?:now|seit|since|jetzt|ab|vanaf|ahora|désormais)(?:\s[\w.]{1,12})?|\s{1,4}(?:le|la|el|il))?)?\s{0,3}(?P<sign>[:=])?\s{1,4}[\"'`*]{0,3}"
        r"(?P<value>(?:\d{3}[ -]\d{3,5}|\d{4,8}|(?<=[Cc][Vv][CcVv].)\d{3})(?![\d%]|[.,\-]\d)"
        r"|(?(sign)[^\s\"'`<>]{5,64}+|(?!)))",
        accept=lambda _found, value: value.replace(" ", "").replace("-", "").isdigit() or is_mixed(value),
        strip=True,
        needs=r"(?s:(?:C(?:[OoÓó][Dd]|[Vv])|c(?:[OoÓó][Dd]|[Vv])|OTP|TAN|PIN|PUK).{1,64}?\d)",
    ),
    pattern_rule(
        "code before its name",
        "odd",
        ("G-{} is your verification code.\t493817", "we used 4711 as the area code"),
        r"(?<![\w.,$€/-])(?P<value>(?:[A-Z]-)?\d{4,8})\s{1,4}(?i:(?:is|ist|lautet)\s{1,4}(?:your|the|ihr|dein|der)|as\s{1,4}(?:your|my))"
        r"(?:\s{1,4}[\w-]{1,20}){0,3}?\s{1,4}(?i:[\w-]{0,16}code|PIN|OTP|TAN)(?!\w)",
        needs=r"\d{4}",
    ),
    pattern_rule(
        "login with a password",
        "login",
        ("log in with anna and {password}", "Log in to server web-01 and run it"),
        r"(?i)(?<![a-z])(?:credentials?|creds|login|(?:log|sign)(?:ged|ed)?\s{1,4}in|zugangsdaten|anmeldedaten"
        r"|identifiants|credenciales|credenciais|credenziali|inloggegevens"
        r"|anmeld(?:ung|en)|einloggen|(?:logge|melde)[ ](?:dich|sich)|zugang)[\"'`*]{0,4}(?:[ ](?:details|data|info))?"
        rf"{FOR_SOMETHING}"
        r"(?:\s{1,4}(?:are|is|with|as|using|mit|als|sind|lauten|sont|son|sono|são|zijn|attempt|details?|data|info))?(?P<colon>\s{0,4}[:=])?\s{1,4}"
        r"[\"'`*]{0,3}(?P<value>[\w.@\-]{2,64}(?:\s?[:/]\s?|\s(?:and|und|with|mit)\s|(?(colon),?\s|(?!)))(?P<secret>(?=\S{0,128}?[\d!@#$%^&*+=~?])[^\s\"'`<>/]{3,128}+))",
        accept=lambda _found, value: is_mixed(value) and not _NO_PASSWORD.search(value),
        strip=True,
    ),
    pattern_rule(
        "user / password",
        "user",
        ("Use joe / {} for the test system.\tVelvet7064", "Use ubuntu / debian12 or admin / staff."),
        r"(?<![\w/.\-])(?i:(?P<labelled>(?:user(?:name)?|account|benutzer(?:name)?)[:=][ ][\w.@\-]{2,64})"
        r"|(?P<known>admin|administrator|root)"
        r"|(?:use|try|user|account|nutze|nimm|verwende|benutze)[ ][\"'`*]{0,3}[a-z][a-z.@\-]{1,64})"
        r"[\"'`*]{0,3}(?P<sign>[ ]/[ ]|(?(labelled):|(?!)))[\"'`*]{0,3}(?P<value>[^\s\"'`<>/]{6,128}+)",
        accept=lambda found, value: (
            is_mixed(value)
            and not _NO_PASSWORD.search(value)
            and not _RESOURCE.fullmatch(value)
            and (
                (found["sign"] != ":" and (found["labelled"] or found["known"]))
                or (len(value) >= 8 and _CHOSEN.fullmatch(value))
            )
        ),
        strip=True,
        needs=r" / |[:=] [\w.@\-]+:",
    ),
    pattern_rule(
        "value before its name",
        "odd",
        ("{password} is my password", "Use 1Password as the password manager."),
        r"(?P<quote>[\"'`]?)(?<![\w.\-/])(?P<value>[^\s\"'`<>,;()]{5,256}+)(?P=quote)\s{1,4}(?:is|as|for|into|was|als|ist|comme|como|come|est|es|è|(?:when|if)(?:\s{1,4}[a-z]{1,12}){1,4}\s{1,4}for)\s{1,4}"
        r"(?:(?:the|my|your|our|his|her|their|a|an|le|la|das|mein|mon|mi)\s{1,4})?(?:\w{1,20}\s{1,4}){0,2}?"
        r"(?:(?:[a-z]{1,16}(?=[A-Z]))?"
        r"(?i:passw(?:or)?[dt]|kennwort|mot de passe|contraseña|senha|wachtwoord"
        r"|passphrase|passcode|(?:api|access|secret|private|encryption)[ _-]?key"
        r"|(?:access|auth|api|session|refresh|private)[ _-]?token|(?:client|jwt|webhook)[ _-]?secret|pin)(?![a-z])"
        r"|(?P<name>\w{1,40}?(?:[_.\-]|[a-z](?=[A-Z]))[\w.\-]{1,40}+|pwd|pass|token|secret|credentials))"
        r"(?! (?:manager|polic|rule|hash|store|generator))",
        accept=lambda found, value: (
            is_mixed(value)
            and (len(value) >= 6 or found["quote"])
            and "-" not in value[2:4]
            and (
                not found["name"]
                or (classify(found["name"]) is KeyKind.SECRET and (_COMPOUND.search(found["name"]) or is_chosen(value)))
            )
        ),
    ),
    pattern_rule(
        "changed password",
        "name",
        ("I changed my pw from {password} to another.", "Passwort auf web01 ändern; password from postgres to vault"),
        r"(?i)(?<![\w\-])(?:pass(?:w(?:or)?[dt]|phrase|code)|pwd?|kennwort)[ ](?:"
        r"(?:(?:was[ ]|has[ ]been[ ])?(?:changed|reset|updated|rotated)[ ])?from[ ](?=\S{5,128}[ ]to[ ])"
        r"|von[ ](?=[^\s\[]{5,128}[ ](?:auf|zu)[ ])"
        r"|(?:von[ ]\S{1,128}[ ])?(?:auf|zu)[ ](?=\S{5,128}[ ](?:geändert|gesetzt|zurückgesetzt|aktualisiert)))"
        r"[\"'`„“]?(?P<value>[^\s\"'`“”<>]{5,128}+)",
        accept=is_mixed_value,
        strip=True,
        needs=r" (?:from|von|auf|zu) ",
    ),
    pattern_rule(
        "two names and two values",
        "name user",
        ("username and password: anna and {password}", "username and password: required and 12 characters long"),
        rf"(?<![\w\-])(?P<first>[\w\-]{{3,24}}+){_AND}(?P<name>[\w\-]{{3,24}}+)"
        rf"[ ]?(?:[:=]|are|is|sind|lauten)[ ]{{1,2}}[^\s,/]{{2,64}}+{_AND}(?P<value>[^\s\"'`<>]{{5,128}}+)",
        accept=lambda found, value: (
            is_mixed(value) and KeyKind.SECRET in (classify(found["first"]), classify(found["name"]))
        ),
        strip=True,
        needs=_AND,
    ),
    pattern_rule(
        "u and p",
        "user",
        ("u: anna p: {password}", "U: 3.2V P: 12.5W"),
        r"(?i)(?<!\S)u(?:ser)?[:=][ ]?\S{2,64}+[ ](?:[/|][ ])?p(?:w|wd|ass)?[:=][ ]?"
        r"(?!\d[\d.,]{0,9}[a-z]{0,3}(?!\S))(?P<value>\S{5,128}+)",
        accept=is_mixed_value,
        strip=True,
        needs="[pP](?:[wW][dD]?|(?i:ass))?[:=]",
    ),
    Rule(
        "seed phrase",
        frozenset({"phrase"}),
        (
            "seed phrase: {}\townu zozo tige pisa unve maru copo gosu veva widu suda arca",
            "The phrase is easy to remember.",
        ),
        find_seed_phrases,
    ),
    pattern_rule(
        "password in scripts of Asia",
        "cjk",
        ("密码是{password}", "密码学是一门科学。"),
        # They write the name, a copula and the value without blanks, or with marks that are no letters to ``re``.
        r"(?:密[码碼钥鑰匙]|口令|令牌|[验驗认認][证證][码碼]|認証(?:コード|番号)|確認コード|인증\s?(?:번호|코드)|パスワード|비밀번호|암호|รหัสผ่าน|पासवर्ड)\s{0,2}(?:[改设設][成为為]|是|为|為|は|です|는|은|가|คือ|है)?\s{0,2}[:：=]?\s{0,2}"
        r"[\"'`「“]?(?P<value>[!-~]{4,64}+)",
        accept=lambda _found, value: is_mixed(value) or value.isdigit() or len(value) >= 8,
        strip=True,
    ),
    Rule(
        "password nearby",
        frozenset({"name", "login"}),
        ("voici le mot de passe du wifi : {password}", "Hasło musi mieć 12 znaków."),
        find_nearby,
        MIXED_SIGN,
    ),
)
