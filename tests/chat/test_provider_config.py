"""From configuration to a provider, and what identifies an endpoint."""

from __future__ import annotations

from chat.providers import DEFAULT_OPENAI_MODEL, ProviderConfig, build_provider
from chat.providers.offline import OfflineAnalyst
from chat.providers.openai_client import Connection


def test_nothing_configured_is_the_offline_analyst() -> None:
    assert isinstance(build_provider(ProviderConfig()), OfflineAnalyst)


def test_key_alone_is_the_vendor_with_its_default_model() -> None:
    found = build_provider(ProviderConfig(api_key="k"))

    assert found.model == DEFAULT_OPENAI_MODEL
    assert found.identity.startswith("https://api.openai.com/v1#")


def test_identity_tells_endpoints_and_keys_apart_and_shows_neither_key_nor_password() -> None:
    one, other = (
        Connection("https://me:pw@Models.Example/v1/", "key-1"),
        Connection("https://models.example/v1", "key-2"),
    )

    assert one.identity.split("#")[0] == other.identity.split("#")[0] == "https://models.example/v1"
    assert one.identity != other.identity
    assert "pw" not in one.identity
    assert "key-1" not in one.identity + repr(one)
