"""Secrets behind their names: ``password = "…"``, a field of JSON, an option of a command, a list of codes.

All repeats are bounded or possessive, so that no text costs more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reasoning.redaction.allowlist import OPEN_MASK, is_expression, is_harmless
from reasoning.redaction.classify import SECRET_WORDS, KeyKind, classify, name_words, names_secret
from reasoning.redaction.rules import Rule, Span, Trigger, next_words, pattern_rule
from reasoning.redaction.rules.prose import (
    PASSWORD_NAME,
    PUBLIC_WORDS,
    QUALIFIERS,
    accepts_digits,
    continues_in_words,
    find_word_passphrase,
    is_label,
    is_no_identifier,
    is_verb,
)
from reasoning.redaction.rules.providers import PROVIDERS
from reasoning.redaction.values import (
    ESCAPED_BREAK,
    JOINED_NAMES,
    NEXT_NAME,
    WEAK_MIN_CHARS,
    class_changes,
    continues_sentence,
    is_address,
    is_in_arn,
    is_issued,
    is_mixed,
    is_mixed_value,
    is_number_like,
    is_on_next_line,
    is_public_beside,
    is_random,
    is_word,
    strip_punctuation,
    wordset,
)

# Everything between a name and its value: operators of many languages, typed assignments, HTML entities, quotes.
_SEPARATOR = (
    r"(?:=>|:=|->|<-|[→⇒]|===?|=|:[ ]?(?:str|string|String|SecretStr|Final|bytes"
    r"|&'static[ ]str|Optional\[str\]|str[ ]\|[ ]None|&str|any|object)[ ]?="
    r"|!==?|\?=|\|\|=|[\"']>|\((?=[\"'])|::|:(?!/)|：|＝|\{[ ]?(?=[\"'])|\|(?!\|)"
    r"|&[#]61;|&[#]58;|%3[aAdD]|&quot;:|,(?:[ ]with:)?(?=[ ]?[\"'])"
    r"|[-–—](?=\s|\Z)|>?(?:<(?!th>)/?[A-Za-z\-]{1,12}>\s{0,40}){1,6}|\.\w{1,24}\((?=[\"']))"
)
_CLOSERS = r"(?:[\"'`*_\\\])}]|&quot;){0,6}"
# SecretStr("…"), Some("…"), b64decode("…"): the value is the argument.
_CONSTRUCTOR = (
    r"(?:(?:std::)?(?:Secret|Some|Just|[Ss]tring|Zeroizing|Redacted|Sensitive)\w{0,8}(?:::(?:new|from))?|(?:bytes\.)?fromhex"
    r"|(?i:md5|sha\d{1,3}|password|crypt|encrypt)"
    r"|(?:base64\.)?b64decode|Buffer\.from|unhexlify|hex2bin|(?:[Hh]ex|Base64)\.[Dd]ecode\w{0,8}|Base64\.getDecoder\(\)\.decode"
    r"|Convert\.From(?:Base64|Hex)String)\((?=[\"'])"
)
_OPENERS = (  # also block scalars and anchors of YAML
    r"(?:\\[nrt]|[\"'`*_(\s]|\\(?!u[0-9a-fA-F]{4})|&quot;|\[(?=[\"'\[\d-]|true|false|null)"
    rf"|[->|][+-]?(?=\s|\Z)|(?:&|!!|!(?=unsafe))\w{{1,20}}(?=\s)|string\(\d{{1,4}}\)(?=[ ]\")"
    rf"|[bruf@N](?=[\"'])|{_CONSTRUCTOR}){{0,12}}"
)
_LEAD = re.compile(
    rf"(?<![\w.\-]){ESCAPED_BREAK}(?P<name>(?:[A-Za-z]{{2,14}}+[ ]){{0,2}}(?:checksum/)?[\w.\-]{{1,80}}+){_CLOSERS}"
    rf"(?:[ ]\}}\}})?(?:[ \t]|\.(?=[ .:])){{0,40}}(?P<sep>{_SEPARATOR})(?P<open>{_OPENERS})"
)
_SEPARATES = re.compile(r"[=:|→⇒：＝&%\"',>–—-]")
_VALUE = re.compile(r"[^\s\"'`<>\\]{1,512}+")
_WEAK_VALUE = re.compile(r"[^\s\"'`<>\\=]{1,512}+={0,3}")
_HTML_ATTRIBUTE = re.compile(r"[A-Za-z\-]{2,24}=[\"']")
_ODD_BACKSLASHES = re.compile(r"(?<!\\)(?:\\\\){0,64}\\\Z")  # the last escapes what follows
_OPEN_QUOTE = re.compile(r"\\{0,3}([\"'`])\s*\Z")
# A value ends where the next name, a closing bracket or the sentence follows.
_VALUE_END = re.compile(r"[,;&)\]}](?:(?<=[,;&])(?=\s|\Z|[\w.\-]{1,40}[=:]|[\"'{}\[\]])|(?<![,;&])(?=[,;)\]}\s.]|\Z))")
_DOTTED_PATH = re.compile(r"[a-z_][A-Za-z_]*(?:\.(?:[A-Za-z_]\w{0,40}|\d{1,3})){2,10}")  # django.contrib.auth.hashers.X
_ATTRIBUTE = re.compile(r"(?:self|this|[A-Z]\w*[a-z]\w*)\.")
_COOKIE_HEADER = re.compile(r"(?i)(?:document\.)?(?:set-)?cookie")
_SIGNS = re.compile(r"[\W_]+")
_NEXT_LISTED = re.compile(r"([\"']),\s{0,40}\1(?P<value>[^\"'\n]{3,256}+)(?=\1\s{0,40}[,\]])")
_SUBSCRIPT = re.compile(r"[\"']?\] ")
_LOGIN = re.compile(r"(?i)(?:auth|credentials?)\Z")
_MEMBER = re.compile(
    r"[{,]\s{0,40}\\?[\"'](?P<name>\w{1,40})\\?[\"']\s{0,3}:\s{0,3}"
    r"(?:(?P<sign>\\?[\"']))?(?P<value>(?(sign)[^\"'\n\\]{0,256}+|[\w.\-]{1,40}+))(?(sign)(?P=sign))\s{0,8}"
)
_PARTS = wordset(
    "old new current previous value plain plaintext clear cleartext raw text confirm confirmation repeat initial temp"
    " temporary primary secondary oldvalue newvalue default"
)
_TEMPLATE_END = re.compile(r"[\w |]{0,80}\}")
_CELL_END = re.compile(r"[\"'`*]{0,3}[ \t]{0,40}(?:\||\r?\n|\Z)")
_HEADING_REST = re.compile(r"[^\n]{0,256}+\r?\n\s{0,8}[|:-][|: \t-]{2,}+(?=[\r\n]|\Z)")
_LINE_END = re.compile(r"\r?(?:\n(?!\s{0,40}[)\]}])|\Z)")
_NEXT_WORD = re.compile(r" [A-Za-z]")
_BLOCK = re.compile(r" ?\{")  # of a style sheet
_KEY_OF_YAML = re.compile(r"[\w.\-]+: ")
_NEXT_KEY = re.compile(r"[\"']\s{0,2}:")  # of JSON
_TEMPLATE = re.compile(r"\{[a-z_]\w*\}")
_UNION = re.compile(r"\{(?:[\w.]{1,64}+\|){1,12}\Z")  # of types, as in JSDoc
_SIZE = re.compile(r" (?:bytes|chars|characters|bits|k?m|ft|feet)(?!\w)")
_NAME_OF_FIELD = re.compile(r"[a-z]+(?:_[a-z]+)+")
_NAME_OF_OBJECT = re.compile(r"[a-z]{2,16}(?:-[a-z]{2,16}){1,5}")  # of a cluster: "remoteKey: redis-ca"
_REMOTE_REF = re.compile(r"[ \t]*(?:#[^\n]*)?\n\s{1,24}remoteRef:")  # behind the name of a secret of a cluster
_VERSION = re.compile(r"v?\d{1,4}(?:\.\d{1,4}){1,2}")
_WORDS = re.compile(r"(?:[A-Za-z][a-z]{2,}+[/_-]?+)++")  # of a name, or side by side
_COMPOUND = re.compile(r"[a-z][A-Z]|[_\-.]")
_HUMPS = re.compile(r"(?:[A-Z][a-z]+){2,}")
_LONG_VALUE = re.compile(rf"[^\s\"'`<>\\]{{{WEAK_MIN_CHARS}}}")
# Behind these a value follows, not a sentence.
_STRONG_SEPARATORS = ("=", "=>", ":=", "%3D", "%3d", "&#61;")


def find_assignments(text: str, start: int) -> Iterator[Span]:
    while _SEPARATES.search(text, start) and (lead := _LEAD.search(text, start)):
        # "app").password("…", <logon><password>: a sign between may have the next name.
        start = lead.start("sep") if lead["sep"][0] in ".>" else lead.end()
        if text.startswith(OPEN_MASK, lead.end()):
            continue
        kind, last = classify(lead["name"]), lead["name"].rpartition(" ")[2]
        if last != lead["name"] and classify(" ".join(lead["name"].split()[-2:])) is KeyKind.NONE:
            continue  # "secret owner=x", "token sent via: x"
        if kind is KeyKind.NONE:  # "config.api_key" is a key, "config_key" is not
            kind = classify(lead["name"].rpartition(".")[2])
        if kind is KeyKind.SECRET and _MEMBER.match(text, lead.end()):
            yield from find_members(text, lead.end())
        elif kind in (KeyKind.SECRET, KeyKind.WEAK, KeyKind.SERVICE) and not lead["name"].lower().endswith(
            "authorization"
        ):
            span = assigned_value(text, lead, kind)
            if span:
                start = max(start, span.end)
                yield span
                if "[" in lead["open"] and (PASSWORD_NAME.search(lead["name"]) or _LOGIN.search(lead["name"])):
                    yield from find_listed(text, span.end)


def find_members(text: str, start: int) -> Iterator[Span]:
    """Find the parts of a secret, which is an object that begins at ``start``: ``{"old": "…", "new": "…"}``."""
    while member := _MEMBER.match(text, start):
        start, value = member.end(), member["value"]
        if member["name"].lower() in _PARTS and not (is_harmless(value) or is_word(value)):
            yield Span(*member.span("value"))


def find_listed(text: str, start: int) -> Iterator[Span]:
    """Find the other values of a list, whose first one is a password that ends at ``start``."""
    while listed := _NEXT_LISTED.match(text, start):
        start = listed.end("value")
        if not is_harmless(listed["value"]) and not is_word(listed["value"]):
            yield Span(*listed.span("value"))


def assigned_value(text: str, lead: re.Match[str], kind: KeyKind) -> Span | None:
    start = lead.end()
    next_name = NEXT_NAME.match(text, start)
    if "\n" in lead["open"] and next_name:
        return None  # an empty value
    # The next line of a table is judged by find_in_tables.
    if lead["sep"] == "|" and ("\n" in lead["open"] or "\\n" in lead["open"]):
        return None
    if _COOKIE_HEADER.fullmatch(lead["name"]) and next_name and next_name[0].endswith("="):
        return None  # cookies, which have a rule of their own
    quote = _OPEN_QUOTE.search(lead["open"])
    if not quote and (phrase := find_word_passphrase(lead["name"], text, start)):
        return phrase
    value = quoted_value(text, lead, quote) if quote else bare_value(text, start, kind)
    if lead["sep"] == "|":
        value = value.partition("|")[0]  # the cell
    end = start + len(value)
    is_secret = (
        value
        and is_secret_value(lead, kind, value, quoted=quote[1] if quote else "")
        and not is_on_next_line(text, lead.end("sep"), start, end, value)
        and not repeats_name(lead["name"], value)
        and not is_harmless(value)
        and not is_in_arn(text, lead.start())
    )
    return Span(start, end) if is_secret else None


def quoted_value(text: str, lead: re.Match[str], quote: re.Match[str]) -> str:
    """Return the value behind an opening ``quote``; "" where the quote opens none."""
    start, before, opened = lead.end(), text[lead.start() - 1 : lead.start()], lead["open"].rstrip()
    behind = text[start : start + 1]
    # ("?token=" + token): the quote closes what was opened before the name.
    is_closing = quote[0][-1].isspace() and behind in tuple("+).,;&|?:}]")
    is_closing |= before == quote[1] and quote[1] not in text[lead.end("name") : lead.end("sep")]
    # "Vault token: " VAULT_TOKEN
    is_closing |= quote[0][-1].isspace() and text.find(quote[1], start, start + 512) < 0
    is_closing |= "\n\n" in quote[0]
    is_docstring = re.search(r"\n\s*\"{3}", lead["open"]) is not None
    is_empty = opened[-2:] == quote[1] * 2 and (lead["open"][-1].isspace() or behind in (*":,;)]}.", ""))
    is_role = quote[0] == "`" and lead["sep"] == ":" and before == ":"  # of reStructuredText
    if is_closing or is_docstring or is_empty or is_role:
        return ""
    return until_quote(text, start, quote[1], escaped=quote[0].startswith("\\"))


def bare_value(text: str, start: int, kind: KeyKind) -> str:
    """Return the value without quotes that begins at ``start``; "" where none does."""
    if kind is not KeyKind.SECRET and not _LONG_VALUE.match(text, start):
        return ""
    found = (_VALUE if kind is KeyKind.SECRET else _WEAK_VALUE).match(text, start)
    if not found or (found.group()[-1] == ":" and "\n" in text[max(start - 8, 0) : start]):
        return ""  # nothing, or the next name, on a line of its own
    if _HTML_ATTRIBUTE.match(text, start):
        return ""
    closing = _VALUE_END.search(found.group())
    return strip_punctuation(found.group()[: closing.start()] if closing else found.group())


def until_quote(text: str, start: int, quote: str, *, escaped: bool) -> str:
    """Return the text up to the closing quote; without one, the rest of the line."""
    line_end = text.find("\n", start, start + 512)
    limit = line_end if line_end >= 0 else min(len(text), start + 512)
    end = text.find(quote, start, limit)
    while not escaped and end > start and _ODD_BACKSLASHES.search(text, start, end):
        end = text.find(quote, end + 1, limit)
    return text[start : end if end >= 0 else limit].rstrip("\\")


def is_secret_value(lead: re.Match[str], kind: KeyKind, value: str, *, quoted: str) -> bool:
    """Judge a value by its name and by the sign between the two. ``quoted``: by which sign, or ""."""
    name, separator = lead["name"], lead["sep"]
    behind_name = lead.string[lead.end("name") : lead.end()]  # the sign, and quotes around it
    if value.isalpha() and behind_name[0] == ")":
        return False  # the type of a function: "(string $token): Badge"
    if not quoted and _SUBSCRIPT.match(behind_name) and value.isidentifier():
        return False  # a variable: headers["Cookie"] = value2
    if kind is not KeyKind.SECRET:
        return not is_public_beside(name, value) and is_weak_value(separator, kind, value)
    if (
        is_public_beside(name, value)
        or (
            not quoted
            and (separator == "<-" or "<" not in separator)
            and is_expression(value)
            and not is_in_environment(lead, value)
        )
        or (separator in (":", ",", "|") and is_verb(name, value, lead.string, lead.start()))
        or (value.isdigit() and name.lower().endswith("tokens"))  # a number of them
    ):
        return False
    if separator[-1] == ",":  # ["password", "…"], setopt(USERPWD, "…")
        is_named = " " not in value and (behind_name[0] in "\"']" or name.isupper())
        is_key = _NEXT_KEY.match(lead.string, lead.end() + len(value)) is not None
        return is_named and bool(quoted) and not (is_key or value.islower()) and is_secret_in_prose(name, value)
    # Comparing with a literal reveals it; comparing with a variable doesn't.
    if separator[:2] in ("==", "!="):
        is_literal = re.match(r"[\"'`]\s", behind_name) is not None  # 'token_1' == 'token_2'
        is_keyword = value.isalpha() and not PASSWORD_NAME.search(name)  # token == "with"
        return bool(quoted) and len(value) > 3 and value.count(" ") < 3 and not (is_literal or is_keyword)
    if separator[-1] == "(" or separator == "::":
        is_chosen = PASSWORD_NAME.search(name) or not (JOINED_NAMES.fullmatch(value) or is_expression(value))
        return " " not in value and is_mixed(value) and bool(is_chosen) and not is_address(value)
    if separator[0] == "|":
        return is_secret_beside_bar(lead, value)
    if separator in ("-", "–", "—") and value.replace("-", "").isalpha():
        return False  # "password - plain-text password of the user"
    if separator[0] in "-–—→⇒\"'<" or separator[:2] == "><":
        end = lead.end() + len(value)
        is_text = NEXT_NAME.match(value) if " " in value else value.isalpha() and _NEXT_WORD.match(lead.string, end)
        return not (is_text or _DOTTED_PATH.fullmatch(value)) and is_secret_in_prose(name, value)
    if _VERSION.fullmatch(value):
        return False
    return is_quoted_secret(lead, value, quoted) if quoted else is_bare_secret(lead, value)


def repeats_name(name: str, value: str) -> bool:
    """True where the name contains the value: ``title="#opt-redis-password">redis.password``."""
    own = value.rpartition("/")[2]
    return bool(own) and value.isascii() and _SIGNS.sub("", own.lower()) in _SIGNS.sub("", name.lower())


def is_in_environment(lead: re.Match[str], value: str) -> bool:
    """True for a line such as ``DB_PASSWORD=w7.crossing``, where no code is."""
    is_tight = lead["name"].isupper() and lead[0].endswith(f"{lead['name']}=")
    return is_tight and value.replace(".", "").isalnum() and any(map(str.isdigit, value))


def is_weak_value(separator: str, kind: KeyKind, value: str) -> bool:
    if is_expression(value) or _TEMPLATE.search(value):
        return False
    if kind is KeyKind.WEAK and separator[-1] != ",":
        return is_random(value, min_chars=WEAK_MIN_CHARS) and " " not in value
    return kind is KeyKind.SERVICE and separator[0] not in "|(<-–—" and is_issued(value)


def is_secret_beside_bar(lead: re.Match[str], value: str) -> bool:
    """Judge a cell of a table, but for its heading; bars also divide types, as in JSDoc."""
    end = lead.end() + len(value)
    if _HEADING_REST.match(lead.string, end):
        return False
    if _TEMPLATE_END.match(lead.string, end):
        return False  # "{{ token | decode }}"
    is_cell = is_mixed(value) or _CELL_END.match(lead.string, end)
    is_union = _UNION.search(lead.string, max(lead.start() - 128, 0), lead.end())
    return bool(is_cell) and not is_union and is_secret_in_prose(lead["name"], value)


def is_quoted_secret(lead: re.Match[str], value: str, quote: str) -> bool:
    name = lead["name"]
    is_command = quote == "`" and " " in value  # TOKEN=`pass show token`
    # the name of a variable, or of the secret itself: csrfToken = "csrf-token", "Client secret"
    is_name = (value.isupper() and is_variable(value)) or len(value) < 2
    is_name |= is_label(value)
    is_listed = quote == "`" or "[" in lead["open"]
    is_name |= is_listed and not PASSWORD_NAME.search(name) and _NAME_OF_FIELD.fullmatch(value) is not None
    is_text = len(words := value.split()) >= 4 and sum(map(is_word, words)) >= max(2, len(words) / 2)
    is_text |= " " in value and NEXT_NAME.match(value) is not None  # "interval: 45m"
    is_text |= " " in name and len(words) > 1 and not any(map(str.isdigit, value))  # a translation
    return not (is_command or is_name or is_text or _DOTTED_PATH.fullmatch(value)) and (
        not is_word(value) or name.isupper()
    )


def is_bare_secret(lead: re.Match[str], value: str) -> bool:
    name, separator = lead["name"], lead["sep"]
    if is_code(name, value) or is_label(value) or len(value) < (4 if value.isdigit() else 3):
        return False
    end = lead.end() + len(value)
    is_sentence = separator == ":" and (is_word(value) or not PASSWORD_NAME.search(name))
    if separator == ":" and is_word(value) and not _LINE_END.match(lead.string, end):
        return False
    if not PASSWORD_NAME.search(name) and _NAME_OF_OBJECT.fullmatch(value):
        return False
    if value.replace("-", "").isalpha() and _BLOCK.match(lead.string, end):
        return False
    if _REMOTE_REF.match(lead.string, end):
        return False
    if continues_in_words(name, value, lead.string, end):
        return False
    if (value.isdigit() and _SIZE.match(lead.string, end)) or (value[0] == "#" and value[1:].isalpha()):
        return False
    if continues_sentence(lead.string, lead.end(), end) or (
        value.isalpha()
        and (
            (is_type(name, value) and not is_setting(lead, value))
            or (is_sentence and _NEXT_WORD.match(lead.string, end))
            or value.lower() in name_words(name)
        )
    ):
        return False
    if separator in _STRONG_SEPARATORS or _COMPOUND.search(name) or lead.string[lead.end("name")] in "\"'":
        return name.isupper() or not is_word(value)
    return is_secret_in_prose(name, value)


def is_code(name: str, value: str) -> bool:
    """True for a variable on the right side: ``password=user_password``."""
    low = value.lower()
    if not low.replace("_", "").isalpha():
        return False
    # password=password, token=self.token: the value is a variable.
    last = name.lower().rpartition(".")[2]
    if low.rstrip("s") in (last.rstrip("s"), "self", "basic", "bearer") or _ATTRIBUTE.match(name):
        return True
    return ("_" in low or not name.isupper()) and is_variable(value)


def is_type(name: str, value: str) -> bool:
    """True for words behind a name whose secrets no person chooses: ``token = Error``, ``cookies: sessionCookies``."""
    is_camel_case = not value.islower() and (class_changes(value) < 0.3 or _HUMPS.fullmatch(value) is not None)
    is_chosen = name.isupper() or PASSWORD_NAME.search(name) or "secret" in name.lower()
    return not is_chosen and (is_camel_case or (len(value) <= 10 and value[1:].islower()))


def is_setting(lead: re.Match[str], value: str) -> bool:
    """True for the line ``auth_token=hunter`` of a file of settings; code has blanks, brackets or a comma there."""
    text, name = lead.string, lead["name"].rpartition(" ")[2]
    is_certain = _COMPOUND.search(name) is not None and "cookie" not in name.lower()
    is_tight = lead[0].endswith(f"{name}=")
    begins_word = not text[max(lead.start() - 1, 0) : lead.start()].strip()
    ends_line = _LINE_END.match(text, lead.end() + len(value)) is not None
    return is_certain and is_tight and begins_word and ends_line and len(value) >= 6


def is_variable(value: str) -> bool:
    """True for ``csrfToken`` or ``DB_PASSWORD``: letters that name a secret themselves."""
    return (
        value.replace("_", "").isalpha() and _COMPOUND.search(value) is not None and classify(value) is KeyKind.SECRET
    )


def is_secret_in_prose(name: str, value: str) -> bool:
    """Judge a value behind a colon, where a sentence may follow as well."""
    if value.isdigit():
        return len(value) >= 3 and accepts_digits(name)
    if is_word(value) or is_number_like(value):
        return False
    if PASSWORD_NAME.search(name):
        return len(value) >= 3
    return (
        (is_mixed(value) and len(value) >= 6)
        or is_random(value)
        or (len(value) >= 16 and is_no_identifier(value) and not _WORDS.fullmatch(value))
    )


def is_labelled_secret(found: re.Match[str], value: str) -> bool:
    is_code = value.startswith("{") or _KEY_OF_YAML.match(value)  # value={password}, "data:\n  user: ann"
    return classify(found["name"]) is KeyKind.SECRET and not is_code and not is_word(value.partition(" ")[0])


# "Backup codes: xv2gq-clsp9 3ep8d-d0bxw", one a line, or as a list of JSON.
_CODES = re.compile(r"(?i)(?:recovery|backup|rescue|scratch)[ _-]?codes?(?![a-z])")
_NEXT_CODE = re.compile(
    r"(?:\[redacted\]|[\s\"'`,;:=\[\]*•-]|\(\d{1,2}\)|\d{1,2}[.)](?=\s)|\b(?:are|is|and|or|und|oder|et|y)\s){0,20}+"
    r"(?P<value>(?=[A-Za-z-]{0,12}\d)[A-Za-z0-9]{3,8}(?:-[A-Za-z0-9]{3,8}){1,4}|\d{6,10}|\d{4} \d{4}"
    r"|(?=[A-Za-z]{0,9}\d)[A-Za-z0-9]{8,12})"
    r"(?![\w-])"
)


def find_code_lists(text: str, start: int) -> Iterator[Span]:
    for head in _CODES.finditer(text, start):
        at = head.end()
        while found := _NEXT_CODE.match(text, at):
            yield Span(*found.span("value"))
            at = found.end()


# Whole words that may name a secret, deliberately more than ``classify`` calls one.
_COMMON_NAME_WORDS = wordset(
    "token authentication signature session phrase code codes código codice identified hmac assertion crumb"
)
_NAME_WORDS = SECRET_WORDS - _COMMON_NAME_WORDS
_NAME_WORDS |= wordset("pw oauth sig sid nonce salt verifier wpa tan clave khẩu sandi")
# Anywhere in a word in lower case: "pgpassword", "clientSecret", "apikey".
_NAME_STEMS = (
    r"pass(?:[wpck]|(?![a-z]))|pwd|pw(?![a-z])|psk|secret|credential|contrase|kennwort|пароль|ключ|conn_?str|schlüssel"
    r"|geheimnis|zugangsdaten|anmeldedaten|basicauth|securestring|p/w(?![a-z])|answer(?=[\"'*]{0,3}[:=])"
    r"|tochararray|key[_-]?material|"
) + "|".join(
    rf"{word}[_-]?(?:key|token|sign)(?![a-z])"
    for word in "api access auth bot encryption master private refresh session signing".split()
)
_COMMON_NAME_STEMS = r"token|keys?(?![a-z])|sess(?:ion)?_?id|cookie|code(?<=[a-zäöüß]{3}code)(?![a-z])"
TRIGGERS = (
    Trigger(
        "name",
        _NAME_WORDS,
        stems=_NAME_STEMS,
        marks="".join(map(chr, range(0x370, 0x500))),  # Greek and Cyrillic
        shape="[\u0370-\u04ff](?:(?<=[A-Za-z].)|(?=[A-Za-z]))",  # look-alike letters in a Latin word
        window=next_words(10),
    ),
    Trigger(
        "name",
        _COMMON_NAME_WORDS,
        stems=_COMMON_NAME_STEMS,
        window=next_words(10, until_prose=True),
        needs=re.compile(r"[^A-Za-z\s.,;()/\-]|--|[a-z][A-Z]|[A-Z]{4}|\n"),  # what no plain sentence has
    ),
    Trigger(
        "provider",
        PROVIDERS,
        stems="|".join(name for name in sorted(PROVIDERS) if re.search(r"\d[a-z]", name)),  # "api2cart": two words
        window=re.compile(r"[\w.\-]{0,24}+[\"'`*\\\]]{0,4}+[ \t]{0,8}+(?:[=:|,>]{1,2}+[ \t]{0,4}+[^\s]{0,256}+)?+"),
        needs=re.compile(r"[A-Za-z0-9]{16}|[0-9a-fA-F]{8}-"),  # ``is_issued``
    ),
    Trigger("codes", wordset("recovery backup rescue scratch"), window=next_words(24, until_prose=True)),
    # No rule has this trigger. It holds a text back until the name behind it has come: "public" decides about "key".
    Trigger(
        "qualifier",
        QUALIFIERS | PUBLIC_WORDS,
        stems=r"pub(?:lic)?[_-]?key|version[_-]?id|cursor|message-id|amz-id-2|content-md5|next[a-z_-]{0,12}token|page[a-z_-]{0,12}token"
        r"|continuation[a-z_-]{0,12}token|at_hash|c_hash|s_hash|build[ _-]?id|sec-websocket-(?:accept|key)",
        window=re.compile(r"[\s\-:=`'\"]{0,5}+"),
        needs=re.compile(r"(?!)"),
    ),
)
RULES = (
    Rule(
        "assignment",
        frozenset({"name", "provider"}),
        ('db_password = "{password}"', 'token = request.headers.get("Authorization")'),
        find_assignments,
    ),
    Rule(
        "list of codes",
        frozenset({"codes"}),
        ("Recovery codes (2):\n1. 3529 1188\n2. {}\t1866 2747", "Recovery codes are shown once."),
        find_code_lists,
    ),
    pattern_rule(
        "flag",
        "name",
        ("--api-key {key}", "az login -u joe -p $PASSWORD"),
        # Not „Bearer“-Token, which a sentence follows.
        r"-(?:(?<![^\s\[(,=].)-?|(?<=[\"'`].)-)(?P<name>[A-Za-z][\w\-]{0,40})(?:[ ]{1,4}|=)"
        r"[\"']?(?P<value>[^\s\"'\-][^\s\"']{2,512}+)",
        accept=lambda found, value: (
            names_secret(found["name"], looks_secret=is_random(value))
            and not is_public_beside(found["name"], value)
            and not is_expression(value)
            and not is_variable(value)
            and not is_word(value)
            and not (value.isalpha() and value.isupper())  # the name of the argument
        ),
        strip=True,
        needs="-",
    ),
    pattern_rule(
        "characters of a password",
        "name",
        ('store.load(in, "{password}".toCharArray());', 'char[] letters = "abcdef".toCharArray();'),
        # Of Java, which has passwords as arrays of characters.
        r"[\"'](?P<value>[^\"'\n]{4,128}+)[\"']\.toCharArray\(\)",
        accept=is_mixed_value,
        needs="toChar",
    ),
    pattern_rule(
        "key of a wallet",
        "name",
        ("private key of my wallet {}\t0x" + "52a9f75e" * 8, "private key, of which the digest is 52a9f75e"),
        r"(?i)(?:private|secret|wallet)[ _-]?key[^\n]{0,60}?(?P<value>(?:0x)?[0-9a-f]{64})(?!\w)",
        needs="[0-9a-fA-F]{64}",
    ),
    pattern_rule(
        "XML element",
        "name",
        ("<apiKey>{key}</apiKey>", 'proxy_url="socks5h://<username>:<password>@proxy-host"'),
        # <password>…</password>, with attributes or a namespace.
        r"<(?!code>)(?P<name>[A-Za-z][\w.\-:]{0,60}+)(?:\s[^<>]{0,80}=[^<>]{0,80})?>\s{0,8}(?P<value>[^<\s][^<\n]{0,256})(?P<end></)?",
        accept=lambda found, value: (
            # A placeholder such as <password> has a sentence behind it.
            not is_label(value)
            and not is_public_beside(found["name"], value)
            and (found["end"] or (" " not in value and value[0].isalnum() and is_mixed(value)))
            and names_secret(found["name"].rpartition(":")[2], looks_secret=is_random(value, min_chars=WEAK_MIN_CHARS))
        ),
    ),
    pattern_rule(
        "name and value",
        "name",
        ('- name: DB_PASSWORD\n  value: "{password}"', "secrets:\n  - name: x\n    value: on"),
        # Where labels separate name and value: ``name: x value: y``, ``"x": {"default": "y"}``, XML children, diffs.
        # Only the name is consumed: another may be in what this one takes for its value or its attribute.
        r"(?P<name>(?<![\w.\-])[\w.\-]{2,64}+)(?=[\"']?,?(?:\s{1,4}[\w:]{1,12}=[\"'][^\"'<>\n]{0,40}[\"']){0,3}"
        r"(?:(?:(?<=[\"'],)|\s|(?<=[\"'])>\s{0,24}<)\s{0,24}-{0,2}\s{0,4}[\"']?(?:(?:Parameter)?[Vv]alue|val|content|data|body)[\"']?"
        r"(?:\s{0,3}[=:]\s{0,3}|(?<=--body|-value)\s|(?<=<value)>)|[ ]/t[ ]REG_\w{2,12}[ ]/d[ ])"
        r"[\"']?(?P<value>(?!```|~~~)[^\s\"'<>][^\"'<>\n]{1,256}))",
        accept=is_labelled_secret,
        needs="val|Val|content|data|body|REG_",
    ),
    pattern_rule(
        "block with a value",
        "name",
        ('output "db_password" {\n  value = "{password}"\n}', 'variable "db_password" {\n  type = string\n}'),
        r"(?P<name>(?<![\w.\-])[\w.\-]{2,64}+)[\"']?\s{0,3}(?:[:=]\s{0,3})?\{[^{}]{0,300}?(?<![\w-])[\"']?(?:default|value|content|data)[\"']?"
        r"\s{0,8}[:=]\s{0,3}[\"'](?P<value>[^\"'<>\n]{2,256})",
        accept=is_labelled_secret,
        needs="{",
    ),
    pattern_rule(
        "default of an option",
        "name",
        ('parser.add_argument("--password", "-p", default="{password}")', 'add_argument("--password", default="")'),
        r"--(?P<name>[A-Za-z][\w\-]{1,40})[\"'][^\n()]{0,80}?[ ]default=[\"'](?P<value>[^\"'\n]{2,256})",
        accept=is_labelled_secret,
        needs="default=",
    ),
    pattern_rule(
        "changed value",
        "name",
        ('module.db.password: "" => "{password}"', 'version = "1.2" -> "1.3"'),
        # A diff: password: "old" -> "new".
        r"(?P<name>(?<![\w.\-])[\w.\-]{2,64}+)[\"']?\s{0,8}[:=]\s{0,3}[\"'][^\"'\n]{0,128}[\"']\s{0,3}[-=]>\s{0,3}"
        r"[\"'](?P<value>[^\"'\n]{2,256})",
        accept=is_labelled_secret,
        needs=">",
    ),
)
