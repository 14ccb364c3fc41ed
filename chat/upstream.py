"""The model that a conversation's next request goes to: profiles and settings to a provider.

A conversation may name a profile; else the profile that staff made the default answers, else the environment's own
endpoint, else the offline analyst. Keys stand in the environment alone: a profile knows the name of its variable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from accounts.prepared import Prepared
from chat.models import Conversation, ModelProfile
from chat.providers import OPENAI_URL, ProviderConfig, known_provider_for, provider_for
from chat.providers.base import Provider, ProviderError
from chat.providers.openai_client import Connection
from reasoning.dialects import find_dialect
from reasoning.egress import RequestTarget

OFFLINE = "offline-analyst"
_VARIABLE = re.compile(r"OPENAI_(?:API_KEY|BASE_URL|MODEL|API)\b")
RESPONSES = "responses-strict"
_ENABLED = Prepared(lambda: ModelProfile.objects.filter(is_enabled=True))


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """The model that the next request goes to.

    ``name``: the profile's; without a profile that of the model, or empty where the endpoint chooses. ``dialect``: a
    name of ``reasoning.dialects``. ``reasoning``: the model's layer of ``reasoning.*`` settings. ``key_variable``:
    where its key stands; ``missing_key`` names it where that is empty.
    """

    name: str
    label: str
    config: ProviderConfig
    dialect: str
    context_limit: int
    reasoning: Mapping[str, Any] = field(default_factory=dict)
    missing_key: str = ""
    key_variable: str = ""
    is_profile: bool = False


def chosen_model(conversation: Conversation) -> ChosenModel:
    """Return the model of a conversation's next request. Reads the database; a profile may have changed meanwhile."""
    return chosen_and_offered(conversation)[0]


def chosen_and_offered(conversation: Conversation) -> tuple[ChosenModel, tuple[ChosenModel, ...]]:
    """Return the model of a conversation's next request, and what it may choose instead, as they are at one moment."""
    profiles = _enabled()
    offered = _offered(profiles)
    own = next((each for each in profiles if each.pk == conversation.profile_id), None)
    return of_profile(own) if own else offered[0], offered


def offered_models() -> tuple[ChosenModel, ...]:
    """Return what a conversation may choose, the one that answers without a choice first. Reads the database."""
    return _offered(_enabled())


def request_target(chosen: ChosenModel) -> RequestTarget:
    """Return where a request to this model goes, for a plan of it. Asks no endpoint: one may still choose its model."""
    config = chosen.config
    return RequestTarget(
        api=config.api,
        model=OFFLINE if config.is_offline else config.model_name,
        provider="offline" if config.is_offline else _identity(config),
        dialect=chosen.dialect,
        context_limit=chosen.context_limit,
    )


def known_provider(chosen: ChosenModel) -> Provider | None:
    """Return the provider of a model; None where its key is missing or its endpoint has to be asked for a model."""
    return None if chosen.missing_key else known_provider_for(chosen.config)


async def provider(chosen: ChosenModel) -> Provider:
    """Return the provider of a model. Raises ProviderError naming the variable where its key is missing."""
    if chosen.missing_key:
        message = _("%(model)s needs a key, and %(variable)s is empty. Set it in the server’s environment or .env.")
        words = {"model": chosen.label, "variable": chosen.missing_key}
        raise ProviderError("authentication", message % words, retryable=False)
    return await provider_for(chosen.config)


async def close() -> None:
    """Close the connections to model services, at the end of the server."""
    from chat.providers.openai_client import close_clients  # noqa: PLC0415 - loaded only where it was used

    await close_clients()


def of_environment(*, model: str | None = None) -> ChosenModel:
    """Return the endpoint that the settings name, or another ``model`` there; with none, the offline analyst."""
    config = _config(
        settings.OPENAI_BASE_URL or None,
        settings.OPENAI_API_KEY or None,
        model or settings.OPENAI_MODEL,
        settings.OPENAI_API,
    )
    if config.is_offline:
        return ChosenModel(OFFLINE, _("Offline analyst"), config, find_dialect("", OFFLINE), settings.CONTEXT_LIMIT)
    return ChosenModel(
        name=config.model_name,
        label=config.model_name or host_of(config),
        config=config,
        dialect=_dialect(config),
        context_limit=settings.CONTEXT_LIMIT,
    )


def of_profile(profile: ModelProfile) -> ChosenModel:
    """Return the model of a profile, whether it is offered or not."""
    variable = profile.api_key_env
    key = settings.MODEL_KEYS.get(variable) if variable else "none"
    config = _config(
        profile.base_url, key or None, profile.model, profile.api, starts_in_reasoning=profile.starts_in_reasoning
    )
    return ChosenModel(
        name=profile.name,
        label=str(profile),
        config=config,
        dialect=profile.dialect or _dialect(config),
        context_limit=profile.context_limit or settings.CONTEXT_LIMIT,
        reasoning=profile.reasoning or {},
        missing_key="" if key else variable,
        key_variable=variable,
        is_profile=True,
    )


def _enabled() -> list[ModelProfile]:
    """Return the profiles that may be chosen, the default first."""
    return sorted(_ENABLED.run(), key=lambda profile: not profile.is_default)


def _offered(profiles: Sequence[ModelProfile]) -> tuple[ChosenModel, ...]:
    """A default profile stands in the place of the environment's endpoint, which no conversation could name then."""
    own = () if profiles and profiles[0].is_default else (of_environment(),)
    return (*own, *map(of_profile, profiles))


def _config(
    base_url: str | None, key: str | None, model: str | None, api: str, *, starts_in_reasoning: bool = False
) -> ProviderConfig:
    return ProviderConfig(
        base_url=base_url,
        api_key=key,
        model=model or None,
        api=cast('Literal["chat", "responses"]', api),
        connect_s=settings.CONNECT_TIMEOUT_S,
        idle_s=settings.UPSTREAM_IDLE_TIMEOUT_S,
        starts_in_reasoning=starts_in_reasoning,
    )


def _dialect(config: ProviderConfig) -> str:
    return RESPONSES if config.api == "responses" else find_dialect(host_of(config), config.model_name)


def _identity(config: ProviderConfig) -> str:
    return Connection(config.base_url or OPENAI_URL, config.api_key or "none").identity


def natural_dialect(chosen: ChosenModel) -> str:
    """Return the dialect that a model's address, API and name point to, whatever its profile says."""
    return _dialect(chosen.config)


def in_its_words(error: ProviderError, chosen: ChosenModel) -> ProviderError:
    """Let an error of a profile's model name the profile, where it would name the environment's variables."""
    if not chosen.is_profile:
        return error
    place = _("the model “%(name)s” of the admin") % {"name": chosen.name}
    key = chosen.key_variable or _("the key variable in %(place)s") % {"place": place}
    words = {
        "OPENAI_API_KEY": key,
        "OPENAI_BASE_URL": _("the address in %(place)s") % {"place": place},
        "OPENAI_MODEL": _("the model’s name in %(place)s") % {"place": place},
        "OPENAI_API": _("the API in %(place)s") % {"place": place},
    }
    error.message = _VARIABLE.sub(lambda found: words[found[0]], error.message)
    return error


def host_of(config: ProviderConfig) -> str:
    """Return host and port of an address, as people may see them: without user information."""
    return urlsplit(config.base_url or "").netloc.rpartition("@")[2]
