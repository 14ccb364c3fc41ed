"""The model that answers a conversation's next request: from profiles and settings to a provider.

A conversation may name a profile. Without one the default profile answers, else the endpoint that the environment
names, else the offline analyst. API keys are in the environment only: a profile holds the name of its variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils.translation import gettext as _

from chat.live.publish import publish_changes
from chat.mcp import servers
from chat.models import Conversation, ModelProfile, SiteSettings
from chat.providers import ProviderConfig, known_provider_for, provider_for
from chat.providers.address import InvalidAddressError, check_address, host_of
from chat.providers.base import Code, Provider, ProviderError, Reason, shown_model
from chat.providers.connections import NO_KEY, Connection
from chat.tools import registry
from chat.tools.base import Tool
from chat.validation import InvalidInputError
from chat.web.addresses import read_hosts
from reasoning.replay.dialects import dialect_named, find_dialect
from reasoning.replay.plan import RequestTarget
from reasoning.replay.wire import FORMATS

OFFLINE = "offline-analyst"
SITE_DEFAULT = ""  # instead of a model's name: whichever answers without a choice
# Written out, since every turn reads them: building this query anew takes three times as long as asking it.
_ENABLED = "SELECT * FROM chat_modelprofile WHERE is_enabled ORDER BY is_default DESC, name"


class Problem(NamedTuple):
    """Why no request can be made to a model: code, reason and parameters of the ``ProviderError``."""

    code: Code
    reason: Reason
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model that can answer a request.

    ``name``: the profile's; without a profile the model's, or empty where the endpoint chooses. ``dialect``: a name of
    ``replay.dialects``. ``reasoning``: the model's layer of ``reasoning.*`` settings. ``key_variable``: the environment
    variable that holds its API key. ``problem``: why no request can be made.
    ``system_prompt``: of the model's profile; of the model of a conversation, also the site's, its project's and the
    conversation's. ``tools``: those that a request of a conversation offers.
    """

    name: str
    label: str
    config: ProviderConfig
    dialect: str
    context_limit: int | None  # the site's own
    reasoning: Mapping[str, Any] = field(default_factory=dict)
    problem: Problem | None = None
    key_variable: str = ""
    is_profile: bool = False
    takes_images: bool = False
    takes_tools: bool | None = None  # None: as its dialect does
    thinking_format: str = ""  # empty: by model
    # A model is the same in every conversation.
    system_prompt: str = field(default="", compare=False)
    tools: Mapping[str, Tool] = field(default_factory=dict, compare=False)

    @property
    def profile_label(self) -> str:
        """What cards name instead of the model; empty without a profile."""
        return self.label if self.is_profile else ""

    @property
    def place(self) -> dict[str, str]:
        """Where staff configure it, as parameters of a failure's text; empty for the environment."""
        if not self.is_profile:
            return {}
        return {"profile": self.name, **({"key": self.key_variable} if self.key_variable else {})}


def chosen_model(conversation: Conversation, profiles: Sequence[ModelProfile] | None = None) -> ModelChoice:
    """Return the model of a conversation's next request.

    Reads the database, as profiles can change at any time; ``profiles``: where they were read just now.
    """
    return resolve(conversation, profiles)[0]


def resolve(
    conversation: Conversation, profiles: Sequence[ModelProfile] | None = None, site: SiteSettings | None = None
) -> tuple[ModelChoice, tuple[ModelChoice, ...]]:
    """Return the model of a conversation's next request, and all that it may choose from.

    Reads the database for ``profiles`` and ``site`` where they were not read just now.
    """
    profiles = enabled_profiles() if profiles is None else profiles
    return in_conversation(model_of(conversation, profiles), conversation, site), offered_models(profiles)


def model_of(conversation: Conversation, profiles: Sequence[ModelProfile] | None = None) -> ModelChoice:
    """Return the model of a conversation's next request, without the instructions and tools of the conversation.

    Reads the database as ``chosen_model`` does.
    """
    profiles = enabled_profiles() if profiles is None else profiles
    own = next((profile for profile in profiles if profile.pk == conversation.profile_id), None)
    return of_profile(own) if own else default_model(profiles)


def default_model(profiles: Sequence[ModelProfile]) -> ModelChoice:
    """Return the model that answers without a choice, of profiles that are in the order of ``enabled_profiles``."""
    return of_profile(profiles[0]) if profiles and profiles[0].is_default else of_environment()


def in_conversation(chosen: ModelChoice, conversation: Conversation, site: SiteSettings | None = None) -> ModelChoice:
    """Return a model with the instructions and tools that it gets in this conversation.

    Reads the database for ``site``.
    """
    site = site or SiteSettings.current()
    shared = conversation.project.system_prompt if conversation.project else ""
    # From the widest scope to the narrowest.
    prompts = (site.system_prompt, chosen.system_prompt, shared, conversation.system_prompt)
    return replace(chosen, system_prompt="\n\n".join(filter(None, prompts)), tools=offered_tools(conversation, site))


def offered_tools(conversation: Conversation, site: SiteSettings) -> Mapping[str, Tool]:
    """Return the tools of this site and those that staff allow the owner, in the same order for every request."""
    tools = dict(registry())
    page_reader = tools.pop("readWebPage")
    if hosts := read_hosts(site.web_hosts):
        words = f"{page_reader.description} Hosts that this site allows: {', '.join(hosts)}."
        tools[page_reader.name] = replace(page_reader, description=words)
    return {**tools, **servers.offered.of(conversation.owner)}


def compared_model(conversation: Conversation, chosen: ModelChoice, name: str) -> ModelChoice:
    """Return the model of this name, to answer beside the one that is chosen. Raises InvalidInputError. Product 47."""
    others = comparable(chosen, offered_models())
    found = next((model for model in others if compared_name(model) == name), None)
    if found is None:
        names = ", ".join(map(compared_name, others)) or "-"
        message = _("compare_model: one of the other models is needed: %(models)s.") % {"models": names}
        raise InvalidInputError("unknown_model", message, field="compare_model")
    return in_conversation(found, conversation)


def comparable(chosen: ModelChoice, offered: Sequence[ModelChoice]) -> list[ModelChoice]:
    """Return those of the offered models that can answer beside the one that is chosen."""
    return [model for model in offered if model != chosen and not model.problem]


def compared_name(model: ModelChoice) -> str:
    """Return what names a model as the second one; the endpoint that chooses its model is named by its host."""
    return model.name or model.label


def offered_models(profiles: Sequence[ModelProfile] | None = None) -> tuple[ModelChoice, ...]:
    """Return what a conversation may choose, the site's default first. Reads the database as ``resolve`` does."""
    profiles = enabled_profiles() if profiles is None else profiles
    # A default profile replaces the environment's endpoint, which no conversation could name any more.
    others = profiles[1:] if profiles and profiles[0].is_default else profiles
    return (default_model(profiles), *map(of_profile, others))


async def find_model(name: object) -> ModelChoice | None:
    """Return the offered model of this name, or None for the site's default.

    Raises InvalidInputError naming the allowed ones, and ProviderError where an endpoint that chooses its model doesn't
    report which one that is.
    """
    offered = await sync_to_async(offered_models)()
    if name == SITE_DEFAULT:
        return None
    for model in offered:
        if model.name == name:
            return model
    names = [name for name, _label in await with_names(offered)]
    if name == names[0]:
        return offered[0]
    message = _("model: one of %(models)s.") % {"models": ", ".join(names)}
    raise InvalidInputError("unknown_model", message, field="model")


async def list_models() -> list[tuple[str, str]]:
    """Return names and labels of all that may be chosen. Raises ProviderError as ``find_model`` does."""
    return await with_names(await sync_to_async(offered_models)())


def set_model(conversation: Conversation, model: ModelChoice | None) -> None:
    """Choose the model of a conversation from its next request on. Writes the database."""
    name = model.name if model and model.is_profile else None
    conversation.profile = ModelProfile.objects.filter(name=name).first() if name else None
    conversation.save(update_fields=["profile"])
    publish_changes(conversation.pk, "model")


def request_target(chosen: ModelChoice) -> RequestTarget:
    """Return the target of a request to this model. Asks no endpoint, so its model may still be unknown."""
    config = chosen.config
    return RequestTarget(
        api=config.api,
        model=OFFLINE if config.is_offline else config.model,
        provider=config.connection.identity if config.connection else "offline",
        dialect=chosen.dialect,
        context_limit=chosen.context_limit,
        takes_images=chosen.takes_images,
        takes_tools=chosen.takes_tools,
        alternates_roles=not config.is_offline,
    )


def known_provider(chosen: ModelChoice) -> Provider | None:
    """Return the provider of a model; None where it isn't usable or its endpoint has to be asked for a model.

    For synchronous code, which may not wait for an endpoint: page views, and the start of a turn.
    """
    return None if chosen.problem else known_provider_for(chosen.config)


async def provider(chosen: ModelChoice, *, is_new: bool = False) -> Provider:
    """Return the provider of a model; ``is_new``: one that knows nothing of its endpoint from earlier requests.

    Raises ProviderError with its problem where it isn't usable.
    """
    if chosen.problem:
        raise ProviderError(*chosen.problem, retryable=False)
    return await provider_for(chosen.config, is_new=is_new)


def of_environment(*, model: str | None = None) -> ModelChoice:
    """Return the endpoint that the settings name, or another ``model`` there; with none, the offline analyst."""
    config = provider_config(
        settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, model or settings.OPENAI_MODEL, settings.OPENAI_API
    )
    if config.is_offline:
        return ModelChoice(OFFLINE, _("Offline analyst"), config, find_dialect("", OFFLINE), settings.CONTEXT_LIMIT)
    return ModelChoice(
        name=shown_model(config.model),
        label=shown_model(config.model) or config.host,
        config=config,
        dialect=natural_dialect(config),
        context_limit=settings.CONTEXT_LIMIT,
        takes_images=may_take_images(config, settings.OPENAI_TAKES_IMAGES),
    )


def of_profile(profile: ModelProfile) -> ModelChoice:
    """Return the model of a profile, whether it is offered or not."""
    variable = profile.api_key_env
    key = settings.MODEL_KEYS.get(variable, profile.base_url) if variable else NO_KEY
    config = provider_config(
        profile.base_url, key, profile.model, profile.api, starts_in_reasoning=profile.starts_in_reasoning
    )
    return ModelChoice(
        name=profile.name,
        label=str(profile),
        config=config,
        dialect=profile.dialect or natural_dialect(config),
        context_limit=profile.context_limit or settings.CONTEXT_LIMIT,
        reasoning=profile.reasoning or {},
        problem=profile_problem(profile, has_key=bool(key)),
        key_variable=variable,
        is_profile=True,
        takes_images=may_take_images(config, profile.takes_images),
        takes_tools=profile.takes_tools,
        thinking_format=profile.thinking_format,
        system_prompt=profile.system_prompt,
    )


def may_take_images(config: ProviderConfig, setting: bool | None) -> bool:
    """Say whether a model sees images: by the setting, else by what is known of the service at its address."""
    if setting is not None:
        return setting
    return dialect_named(find_dialect(config.host, config.model)).takes_images


def profile_problem(profile: ModelProfile, *, has_key: bool) -> Problem | None:
    """Return why a stored profile can't be used: its address, or its key."""
    params = {"variable": profile.api_key_env, "host": host_of(profile.base_url)}
    try:
        check_address(profile.base_url)
    except InvalidAddressError as error:
        return Problem("unreachable", "bad_address", {"problem": error.problem})
    if profile.api_key_env not in ("", *settings.MODEL_KEYS.variables_for(profile.base_url)):
        return Problem("authentication", "key_not_allowed", params)
    return None if has_key else Problem("authentication", "key_missing", params)


def enabled_profiles() -> list[ModelProfile]:
    """Return the profiles that may be chosen, the default first."""
    return list(ModelProfile.objects.raw(_ENABLED))


async def with_names(offered: Sequence[ModelChoice]) -> list[tuple[str, str]]:
    """Return names and labels; where an endpoint chooses its model, both are the name that it has chosen."""
    # Only the first, the environment's endpoint, can be without a name.
    named = [(model.name, model.label) for model in offered]
    if not offered[0].name:
        found = (await provider(offered[0])).name
        named[0] = (found, found)
    return named


def provider_config(
    base_url: str | None, key: str | None, model: str | None, api: str, *, starts_in_reasoning: bool = False
) -> ProviderConfig:
    times = (settings.CONNECT_TIMEOUT_S, settings.FIRST_WORD_TIMEOUT_S, settings.UPSTREAM_IDLE_TIMEOUT_S)
    return ProviderConfig(
        connection=Connection(base_url, key or NO_KEY, *times) if base_url else None,
        model=model or "",
        api=api,
        starts_in_reasoning=starts_in_reasoning,
    )


def natural_dialect(config: ProviderConfig) -> str:
    """Return the dialect that a model's address, API and name point to, whatever its profile says."""
    return FORMATS[config.api].dialect or find_dialect(config.host, config.model)
