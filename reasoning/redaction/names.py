"""How secrets are named in running text: "API key", ``DB_PASSWORD``, "the passphrase for the backup".

``NAME`` is the trigger of such words, ``NAME_GOES_ON`` the text after one that may still lead to a value; the rules of
``credentials`` find nothing longer, so a value is never shown before its name was understood.
"""

from __future__ import annotations

import re

# Words that a name of a secret holds, as text has them. Deliberately more than ``keys`` calls secret.
STEMS = (
    r"pass(?:w|phrase|code|key|(?![a-z]))|pwd|psw|secret|token|(?<![a-z])pw(?![a-z])|(?<![a-z])pat(?![a-z])"
    r"|(?:api|access|private|account|master|auth|secret|signing|encryption|shared|license|[_\-.])key"
    r"|(?<![a-z])key|(?<![a-z])o?auth2?(?:orization)?(?![a-z])|credential|(?<![a-z])creds?(?![a-z])|session|sess_?id"
    r"|(?<![a-z])sid(?![a-z])|(?<![a-z])pin(?![a-z])|t?otp(?![a-z])|cv[vc]2?(?![a-z])|csrf|xsrf|jwt|bearer"
    r"|(?<![a-z])sig(?:nature)?(?![a-z])|mnemonic|phrase|dsn(?![a-z])|conn(?:ection)?[_ \-]?str|login|(?<![a-z])code"
    r"|kennwort|contrase|senha|wachtwoord|passe(?![a-z])|пароль|ключ|cookie|nonce|(?<![a-z])salt(?![a-z])|verifier"
)
QUALIFIERS = (
    "api|access|private|client|signing|encryption|auth|security|verification|recovery|seed|one-time|refresh|master"
    "|connection|app|deploy|license|webhook|backup|shared|service|account|admin|mot|ssh"
)
_FILL = (
    r"(?:is|was|are|will|be|being|becomes?|became|remains|equals|should|must|set|changed|reset|updated|rotated|now|still"
    r"|to|use|used|as|follows|just|simply|currently|the|following|value|field|called|ist|lautet|est|es|è|é|here|here's|of)"
)
SEPARATOR = (
    r"(?:=>|:=|->|→|===?|=|:(?!/)|：|＝|\||&[#]61;|&[#]58;|%3[aAdD]|&quot;:|[\"'],"
    r"|:[ ]?(?:str|string|String|SecretStr|Final|bytes|&'static[ ]str|Optional\[str\]|str[ ]\|[ ]None)[ ]?=)"
)
CLOSERS = r"(?:[\"'`*_\\\])}]|&quot;){0,6}"
OPENERS = r"(?:[\"'`*_\\(\s]|&quot;|\[(?=[\"'])|[bruf](?=[\"'])){0,12}"
_QUOTED_PART = r"[\"'`][^\n]{0,200}"
_WORDS_PART = r"[a-z]{3,12}(?:[ ][a-z]{3,12}){0,7}[ ]?"
GAP = r"(?:\s{1,4}(?:for|of|to|on|in|at|from)(?:\s{1,4}\S{0,59}[^\s.!?;:=]){0,5}?)?"

NAME = rf"(?i:{STEMS})"
NAME_GOES_ON = re.compile(
    rf"""(?ix)
    [\w.\-]{{0,64}} {CLOSERS}
    (?:
      {GAP} (?:\s{{1,4}}{_FILL}){{0,6}} \s{{0,8}} (?:{SEPARATOR}|[>])? (?:\s{{1,8}}(?:value|val|data|content)["']?)?
      {SEPARATOR}? {OPENERS} (?:str|string|SecretStr|bytes)? \s?
    | (?:\s{{1,4}}{_FILL}){{0,4}} \s{{0,8}} {SEPARATOR}? \s{{0,8}} {_QUOTED_PART}
    | \s{{0,8}} {SEPARATOR} {OPENERS} {_WORDS_PART}
    | > [^<\n]{{0,200}}
    )"""
)
QUALIFIER = rf"(?i:(?<![a-z])(?:{QUALIFIERS})(?![a-z]))"
QUALIFIER_GOES_ON = re.compile(r"[\s\-]{0,3}")
PHRASE = r"(?i:passphrase|mnemonic|(?<![a-z])(?:seed|recovery|backup)(?=\Z|[^a-z]))"
PHRASE_GOES_ON = re.compile(
    r"(?i)(?:\s{0,2}(?:phrase|words?|key|code))?[\"'`*]{0,4}(?:\s{1,4}(?:is|was|are))?\s{0,4}[:=]?[\s\"'`*(]{0,6}"
    r"(?:(?:\d{1,2}[.)]\s?)?[a-z]{2,12}[\s,\-]{0,3}){0,26}"
)
LOGIN = r"(?i:(?<![a-z])(?:login|user(?:name|id)?|account|credentials?|creds)(?![a-z]))"
LOGIN_GOES_ON = re.compile(
    r"(?i)[\"'`*]{0,4}(?:\s{1,4}(?:is|are|as|with))?\s{0,4}[:=]?\s{0,4}\S{0,64}[,;/\s]{0,4}(?:and\s{1,4})?(?:with\s{1,4})?"
    r"(?:(?:password|pass|pwd|pw)[\"'`*]{0,4}\s{0,4}[:=]?\s{0,4})?"
)


def with_extra(names: frozenset[str]) -> str:
    """Return the trigger of names, with those that a policy adds."""
    if not names:
        return NAME
    return f"{NAME}|(?i:{'|'.join(sorted(re.escape(name) for name in names))})"
