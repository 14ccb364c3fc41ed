"""Passwords on command lines: ``mysql -p…``, ``curl -u user:…``, ``echo … | sudo -S``."""

from __future__ import annotations

import re

from reasoning.redaction.classify import KeyKind, classify
from reasoning.redaction.rules import Trigger, next_words, pattern_rule
from reasoning.redaction.values import (
    MIXED_SIGN,
    is_mixed,
    is_mixed_value,
    is_number_like,
    is_public_beside,
    is_word,
    wordset,
)


def is_no_number(found: re.Match[str], _value: str) -> bool:
    """True for what is no port and no version."""
    return not is_number_like(found["value"]) or (found["value"].isdigit() and len(found["value"]) > 5)


_ASKING_CLIENT = re.compile(r"(?:mysql|mariadb|psql|pg_)\w*(?: [^\n|;&]{0,80})?\Z")
# Programs that accept a password on their command line.
_COMMAND_WORDS = wordset(
    "mysql mysqldump mysqladmin mariadb sshpass smbclient ldapsearch redis mongo mongosh mongodump zip unzip login"
    " openssl sqlplus sqlldr expdp impdp rman rocommunity rwcommunity snmp snmpget snmpwalk snmpset htpasswd runas"
    " rabbitmqctl ldapmodify ldapadd ldapdelete ldappasswd ldapwhoami useradd usermod setuser requirepass masterauth"
    " keygen nickserv netsh kinit cryptsetup keychain"
)
TRIGGERS = (
    Trigger(
        "command",
        _COMMAND_WORDS,
        window=next_words(12),
        needs=re.compile(r" [-/]|<<|wlan|>|\||@|community|runas|rabbit|requirepass|masterauth|(?i:nickserv) "),
    ),
    Trigger("command", wordset("net"), window=re.compile(r"(?: (?:user?(?: \S*+){0,4}+)?+)?+")),
    Trigger(
        "command",
        wordset("enable isakmp radius tacacs ospf"),
        window=re.compile(r"\S*+(?: (?:(?:secret|password|\S*key)(?: (?:\S*+(?: \S*+){0,2}+)?+)?+)?+)?+"),
    ),
    Trigger("command", wordset("echo printf"), window=re.compile(r"[^\n|>]{0,260}+(?:[|>][^\n|]{0,90}+)?+")),
    Trigger(
        "set",
        wordset("set setx setenv env arg read define"),
        window=next_words(4),
        needs=re.compile(rf"{MIXED_SIGN.pattern}|[\"']"),
    ),
    Trigger(
        "flag",
        marks="-/",
        shape=r"-(?<![\w-]-)(?:-?(?:[uabU]|user|auth|cookie|proxy-user)(?![\w-])|[uU]\w{1,32}[:%]|h?p(?=\S{5}))|/(?<!\S/)(?:[uU]:|[rR][uU](?!\w))",
        window=next_words(4),
    ),
)
RULES = (
    pattern_rule(
        "Oracle login",
        "url command",
        ("sqlplus scott/{password}@orcl", "sqlplus / as sysdba"),
        # user/password@host, as Oracle's tools and JDBC's thin driver write it.
        r"(?:\:thin:|(?<![\w-])(?i:sqlplus|sqlldr|expdp|impdp|rman)\b(?:[ ]-\w{1,12}){0,4}[ ]{1,4}(?:target[ ])?[\"']?)"
        r"[\w$#]{1,64}/(?P<value>[^@\s\"']{1,128}+)@",
    ),
    pattern_rule(
        "user of a command",
        "flag command",
        ("curl -u alice:{password} https://example.com/", 'curl -u "$USER:$PASS" https://example.com'),
        # curl -u user:password, smbclient -U domain\user%password.
        r"(?<![\w-])(?:-u|--user|--proxy-user|-U)[ =]{0,4}[\"']?"
        r"(?P<value>[^\s:\"'`/\\%]{1,64}(?:\\[^\s:\"'`/\\%]{1,64}|/[\w.\-]{1,64}(?=%))?[:%](?!//)(?P<secret>[\"']?[^\s\"'`]{1,256}+))",
        accept=is_no_number,
        strip=True,
        needs=r"-[uU]|-user",
    ),
    pattern_rule(
        "password behind -p",
        "flag command",
        ("7z a -p{password} out.7z in/", "docker run -p 8080:80 nginx"),
        r"(?<![\w-])-h?p(?!python|i\*|\w+\[)(?P<value>(?=[^\s\"'=:]{0,64}[A-Za-z])(?=[^\s\"'=:]{0,64}\d)[^\s\"'=:\-]{6,64}+)(?![^\s\"'])",
        accept=is_no_number,
        needs=r"-h?p",
    ),
    pattern_rule(
        "command with a password",
        "flag command",
        ("zip -P {password} out.zip a.txt", "zip -r out.zip dir | mysql -u root -p shop | openssl rand -hex 32"),
        r"(?<![\w-])(?:(?:mysql|mariadb)\w*\b[^\n|]{0,160}?[ \t]-p"
        r"|openssl\b[^\n|]{0,160}?[ ]-(?:[kK][ ]|hmac[ ]|pass(?:in|out)?[ ]pass:)"
        r"|(?i:r[ow]community6?|snmp[\w-]{0,12}[ ]{1,4}(?:community|[^\n|]{0,80}?-[cAX]))[ ]{1,4}"
        r"|ssh-keygen\b[^\n|]{0,160}?[ ]-[NP][ ]"
        r"|htpasswd[ ]-(?=\w{0,6}b)(?:(?=\w{0,6}n)\w{1,6}|\w{1,6}[ ]\S{1,128})[ ]\S{1,64}[ ]"
        r"|ldappasswd\b[^\n|]{0,160}?[ ]-s[ ]|netsh[ ]wlan\b[^\n|]{0,160}?[ ]key="
        r"|(?:sshpass|redis-cli|mongo\w*|ldap\w+|zip|7z|unzip|smbclient|login|user(?:add|mod))\b[^\n|]{0,160}?[ \t]"
        r"(?:-p|-a|-w|-P)[ =]?)[\"']?(?P<value>[^\s\"'\-][^\s\"']{2,256}+)",
        accept=is_no_number,
    ),
    pattern_rule(
        "secret in a pipe",
        "flag command",
        ('echo "{password}" | sudo -S apt update', "echo done | tee build.log"),
        r"(?:echo|printf)[ ](?:-\w[ ]|[\"']%s(?:\\n)?[\"'][ ])?[\"']?"
        r"(?P<value>(?:[\w.\-]{1,64}:)?[^\s\"':|]{4,256})[\"']?\s{0,2}[|>]"
        r"[^\n|]{0,80}?(?:passw|sudo -S|login|secret|token|-stdin|cryptsetup|kinit|(?P<encoded>base64(?! --?[dD])))",
        accept=lambda found, value: (
            is_mixed(value) and value[0] != "$" if found["encoded"] else is_no_number(found, value)
        ),
        needs=r"[|>]",
    ),
    pattern_rule(
        "output of a command as a file",
        "name",
        ("rsync --password-file=<(echo {password}) a b", "rsync --password-file=<(pass show backup2) a b"),
        r"(?:pass|key|secret|token)[\w-]{0,24}[= ]<\((?:echo|printf)[ ](?:-\w[ ])?[\"']?(?P<value>[^\s\"'|()]{4,256}+)",
        accept=is_no_number,
        needs=r"<\(",
    ),
    pattern_rule(
        "entry of a key chain",
        "name command",
        ("security add-generic-password -a ann -w {password}", "security find-generic-password -a ann -w"),
        r"(?:add-(?:generic|internet)-password[ ][^\n|]{0,160}?-w|(?:unlock|create)-keychain[ ][^\n|]{0,160}?-p)"
        r"[ ][\"']?(?P<value>[^\s\"']{4,256}+)",
        needs=r"add-|-keychain",
    ),
    pattern_rule(
        "command of a protocol",
        "login user name",
        ('a1 LOGIN ann@example.com "{password}"', "USER ann\n331 Password required\nQUIT2"),
        # LOGIN of IMAP, PASS of FTP and POP3.
        r"(?:(?<!\S)LOGIN[ ]\"?[\w.@\-]{1,64}\"?[ ]\""
        r"|(?:USER[ ]\S{1,64}|[Pp]assword[ ]required[^\n]{0,40})\r?\n(?:\d{3}[ ][^\n]{0,80}\n)?PASS[ ])"
        r"(?P<value>[^\s\"]{4,128}+)",
        needs=r"LOGIN|PASS",
    ),
    pattern_rule(
        "value of a secret",
        "name",
        (
            "az keyvault secret set --vault-name v --name s --value {password}",
            "az keyvault secret set --name s2 --value $V",
        ),
        r"(?:secret[ ](?:set|put|create)|SecureString)[ ][^\n|]{0,160}?--(?:secret-)?value[ =]"
        r"[\"']?(?P<value>[^\s\"']{4,256}+)",
        accept=is_no_number,
        needs="value",
    ),
    pattern_rule(
        "login to a package index",
        "scheme",
        ("poetry config http-basic.own ann {password}", "composer config http-basic.example.org --unset"),
        r"http-basic\.[\w.\-]{1,128}[ ][\w.@\-]{1,64}[ ](?P<value>[^\s\"'\-][^\s\"']{3,256}+)",
        accept=is_no_number,
        needs="http-basic",
    ),
    pattern_rule(
        "login to a chat",
        "command",
        ("/msg NickServ identify ann {password}", "NickServ asks you to identify yourself again1"),
        r"(?i)nickserv[ ](?:identify|register)[ ](?:[\w\-]{1,32}[ ])?(?P<value>[^\s@]{5,128}+)",
        accept=is_mixed_value,
        needs=r"(?i)nickserv (?:i|r)",
    ),
    pattern_rule(
        "here string",
        "flag command name",
        ("docker login -u ci --password-stdin x.org <<< {password}", "docker login --password-stdin x.org"),
        r"(?:passw|login|secret|-stdin|kinit|cryptsetup)[^\n|<]{0,80}<<<[ ]?[\"']?(?P<value>[^\s\"']{4,256}+)",
        accept=is_no_number,
        needs=r"<<<",
    ),
    pattern_rule(
        "configuration of Redis",
        "command name",
        ("127.0.0.1:6379> AUTH {password}", "requirepass is empty by default, AUTH CRAM-MD5 and OAuth2 are of mail"),
        r"(?<!\S)(?:requirepass|masterauth|(?P<auth>AUTH)(?:[ ]default)?)[ ][\"']?(?P<value>[^\s\"']{4,128}+)",
        accept=lambda found, value: is_mixed(value) and not value.isupper() if found["auth"] else not value.isalpha(),
        needs=r"requirepass|masterauth|AUTH",
    ),
    pattern_rule(
        "user of Redis",
        "command",
        ("ACL SETUSER cacher on >{password} ~* +@all", "ACL SETUSER cacher on nopass > log.txt"),
        r"(?i)setuser[ ]\S{1,64}[ ](?:\S{1,64}[ ]){0,4}?>(?P<value>[^\s\"']{4,128}+)",
    ),
    pattern_rule(
        "password behind a user",
        "flag command",
        ("net use \\\\nas\\x /user:ann {password}", "runas /user:ann notepad.exe"),
        r"(?:runas|rabbitmqctl|net[ ]user?)[ ](?:\S{1,128}[ ]){1,3}(?P<value>(?=\S{0,64}\d)[^\s/\\\"']{5,128}+)",
        accept=is_no_number,
        needs=r"runas|rabbit|net user?(?: \S+)+? (?:/|\\)|net use \\",
    ),
    pattern_rule(
        "password of a router",
        "command user",
        ("enable secret 0 {password}", "enable secret scanning, and radius key rotation"),
        r"(?<![\w-])(?:enable[ ](?:secret|password)|isakmp[ ]key|(?:radius|tacacs)(?:-server)?[ ]key"
        r"|ospf[ ]authentication-key|username[ ]\S{1,64}[ ](?:privilege[ ]\d{1,2}[ ])?(?:secret|password))"
        r"[ ](?:\d[ ])?(?P<value>[^\s\"'<>]{5,128}+)",
        accept=is_mixed_value,
        needs=r"secret|password|key",
    ),
    pattern_rule(
        "account flag",
        "flag command",
        ("http -a joe:{password} GET https://api.example.com/orders", "tar -u a.tar,b.tar"),
        r"(?<![\w-])(?:-a|-u|--auth)[ =]{1,4}[\"']?(?P<value>[\w.@\-]{1,64}[:,](?P<secret>[^\s\"'`/]{5,256}+))",
        accept=is_mixed_value,
    ),
    pattern_rule(
        "user and password flags",
        "flag command",
        ("az sql server create -n x -u joe -p {password}", "ssh -u joe -p 2222 host"),
        r"(?<![\w-])[-/][rR]?[uU][: =]?[^\s\"']{1,64}[ ]{1,2}[-/][rR]?[pP][: =]?[\"']?(?P<value>[^\s\"']{5,256}+)",
        # Clients of MySQL and PostgreSQL ask for it: behind their "-p " is a database or a port.
        accept=lambda found, value: is_mixed(value) and not _ASKING_CLIENT.search(found.string, 0, found.start()),
        needs=r"[-/][rR]?[pP]",
    ),
    pattern_rule(
        "secrets of WordPress",
        "set",
        (
            "define('AUTH_KEY', '{}');\t:Xa>l0 ,mb|B9Xu^]G+Mtz;=$v*7hVq4f-N(K",
            "define('AUTH_KEY', 'put your unique phrase here');",
        ),
        r"define\([ ]{0,2}'(?:DB_PASSWORD|(?:(?:SECURE_)?AUTH|LOGGED_IN|NONCE)_(?:KEY|SALT))',"
        r"[ ]{1,8}'(?P<value>[^'\n]{5,128}+)'",
        accept=is_mixed_value,
    ),
    pattern_rule(
        "set command",
        "set",
        ("set -x DB_PASS {password}", "set token limits to 4096"),
        # export NAME value: commands that need no sign between name and value.
        r"(?i)(?<![\w-])(?:(?:proxy_)?set(?:x|env|_header)?|env|arg|read|define)(?:[ ]-\w{1,3})?[ \t]{1,3}"
        r"(?P<name>[\w.\-]{1,63}\w)[ \t]{1,4}(?:<<<[ ]?)?(?P<quote>[\"']?)(?P<value>[^\s\"'=<>][^\s\"'<>]{3,512}+)",
        accept=lambda found, value: (
            classify(found["name"]) is KeyKind.SECRET
            and not is_public_beside(found["name"], value)
            and (is_mixed(value) or (found["quote"] and not is_word(value)))
        ),
    ),
)
