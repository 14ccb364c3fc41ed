"""What a key's name says of its value."""

from __future__ import annotations

import pytest

from reasoning.redaction import KeyKind, classify

_SECRET = [
    "api_key",
    "apiKey",
    "API-KEY",
    "Api.Key",
    "apikey",
    "x-api-key",
    "OPENAI_API_KEY",
    "client_secret",
    "clientSecrets",
    "db_passwords",
    "password",
    "Passwort",
    "PGPASSWORD",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "access_token",
    "accessToken",
    "refresh-token",
    "id_token",
    "csrfmiddlewaretoken",
    "csrf_token",
    "Authorization",
    "Proxy-Authorization",
    "Cookie",
    "Set-Cookie",
    "session_id",
    "sessionId",
    "JSESSIONID",
    "private_key",
    "ssh_private_key",
    "AccountKey",
    "SharedAccessKey",
    "AWS_SECRET_ACCESS_KEY",
    "accessKeyId",
    "X-Amz-Security-Token",
    "credentials",
    "jwt",
    "otp",
    "pin",
    "cvv",
    "connection_string",
    "seed_phrase",
    "verification_code",
    "auth_token",
    "bearer",
    "SECRET_KEY",
    "CONTENT_KEYS",
    "webhook_secret",
    "password_hash",
    "zip_file_password",
    "provider_api_key",
    "url_token",
    "signing_secret",
    "encryption_key",
    "secret",
    "token",
    "DB_PASS",
]
_NONE = [
    "max_tokens",
    "tokensEst",
    "token_count",
    "input_cost_per_token",
    "prompt_tokens",
    "completionTokens",
    "cached_tokens",
    "nextToken",
    "pageToken",
    "next_page_token",
    "tokenType",
    "token_type",
    "secretName",
    "password_length",
    "has_password",
    "is_secret",
    "password_policy",
    "token_url",
    "primary_key",
    "sort_key",
    "cache_key",
    "foreignKey",
    "partition_key",
    "public_key",
    "idempotency_key",
    "query",
    "form",
    "company",
    "limit",
    "filing",
    "section",
    "anchor",
    "author",
    "authorized_by",
    "keyword",
    "monkey",
    "turkey",
    "compass",
    "passage",
    "tokenizer",
    "compression",
    "date",
    "name",
    "model",
    "temperature",
    "company_name",
    "file_name",
    "design",
    "signal",
]


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("name", _SECRET)
def test_secret_name_is_secret(name: str) -> None:
    assert classify(name) is KeyKind.SECRET


@pytest.mark.parametrize("name", _NONE)
def test_measure_or_bookkeeping_is_no_secret(name: str) -> None:
    assert classify(name) is KeyKind.NONE


@pytest.mark.parametrize("name", ["key", "keys", "tokens", "signature", "session", "code", "nonce"])
def test_bare_word_is_weak(name: str) -> None:
    assert classify(name) is KeyKind.WEAK


@pytest.mark.parametrize("name", ["email", "user_email", "eMail", "recipients", "contact-emails"])
def test_address_name_is_email(name: str) -> None:
    assert classify(name) is KeyKind.EMAIL


@pytest.mark.parametrize("name", ["ssn", "phone", "phoneNumber", "first_name", "card_number", "date_of_birth", "iban"])
def test_personal_name_is_personal(name: str) -> None:
    assert classify(name) is KeyKind.PII


@pytest.mark.parametrize("name", ["embedding", "query_vector", "Embeddings", "logits"])
def test_vector_name_is_vector(name: str) -> None:
    assert classify(name) is KeyKind.VECTOR


@pytest.mark.parametrize("name", ["embedding_model", "vector_store", "email_count", "email_template", "vector_dim"])
def test_what_is_about_a_thing_is_not_the_thing(name: str) -> None:
    assert classify(name) is KeyKind.NONE


@pytest.mark.parametrize(
    "name",
    [
        "pass\u200bword",
        "ｐａｓｓｗｏｒｄ",
        "раsswоrd",
        "api\u00ad_key",
        "\u202epassword",
        "ΤΟΚΕΝ".translate({0x39D: "N"}),
    ],
)
def test_disguised_name_is_secret(name: str) -> None:
    assert classify(name) is KeyKind.SECRET


def test_policy_names_win() -> None:
    assert classify("floopId", frozenset({"floop_id"})) is KeyKind.SECRET
    assert classify("api_key", frozenset(), frozenset({"apiKey"})) is KeyKind.NONE


@pytest.mark.parametrize("name", ["", " ", "___", "1", "x" * 10_000, "\ud800", "\x00"])
def test_any_name_is_classified(name: str) -> None:
    assert classify(name) in KeyKind
