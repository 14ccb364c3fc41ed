"""Forms of sign-in (ten failures in five minutes), sign-up, the settings page and the switches."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import redis
from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm, BaseUserCreationForm
from django.core.cache import cache
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import AccessToken, User
from accounts.preferences import HELP, LABELS, error_text, value_text
from reasoning.errors import SettingError
from reasoning.settings import MAX_TOKENS, SETTINGS, ReasoningSettings, parse_setting

FAILURES_ALLOWED = 10
WINDOW_S = 300
T = TypeVar("T")
logger = logging.getLogger(__name__)
fallback_cache = LocMemCache("sign-in", {})


class FailedSignIns:
    """Count failed sign-ins of a user name from an address, in Django's cache: Redis, where all processes share one."""

    def __init__(self, username: str, address: str) -> None:
        # a hash, so that neither name nor address is stored
        text = f"{username.strip().casefold()[:254]}\n{address}"
        self.key = "sign-in:" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()

    def are_too_many(self) -> bool:
        return self.with_cache(lambda counts: int(counts.get(self.key, 0)) >= FAILURES_ALLOWED)

    def add(self) -> None:
        """Count one failure; the window starts with the first."""

        def count(counts: BaseCache) -> None:
            if not counts.add(self.key, 1, WINDOW_S):
                try:
                    counts.incr(self.key)
                except ValueError:  # the window ended between the two calls
                    counts.add(self.key, 1, WINDOW_S)

        self.with_cache(count)

    def reset(self) -> None:
        self.with_cache(lambda counts: counts.delete(self.key))

    def with_cache(self, operation: Callable[[BaseCache], T]) -> T:
        # Users must be able to sign in during a Redis outage: each process then counts for itself.
        try:
            return operation(cache)
        except redis.RedisError as error:
            logger.warning(
                "Redis is unavailable, failed sign-ins counted locally", extra={"error": type(error).__name__}
            )
            return operation(fallback_cache)


class SignInForm(AuthenticationForm):
    """Django's sign-in form, limited per user name and address."""

    is_throttled = False

    def clean(self) -> dict[str, Any]:
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        failures = FailedSignIns(self.data.get("username", ""), address)
        if failures.are_too_many():
            self.is_throttled = True
            raise ValidationError(
                _("Too many failed attempts for this name from your address. Try again in %(minutes)d minutes."),
                code="throttled",
                params={"minutes": WINDOW_S // 60},
            )
        try:
            cleaned = super().clean()
        except ValidationError:
            failures.add()
            raise
        failures.reset()
        return cleaned


class SignUpForm(BaseUserCreationForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """User name and password."""

    class Meta:
        model = User
        fields = ("username",)


class PreferencesForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """The user's default for "Show reasoning"; a session's switch overrides it."""

    show_reasoning = forms.NullBooleanField(
        label=_("Show reasoning"),
        widget=forms.Select(
            choices=[("unknown", _("Default of this site")), ("true", _("Shown")), ("false", _("Hidden"))]
        ),
        required=False,
    )

    class Meta:
        model = User
        fields = ("show_reasoning",)


class SettingField(forms.CharField):
    """One ``reasoning.*`` setting; empty leaves it to the model or the site. Spec 001 ERR-001."""

    def __init__(self, key: str, site_value: str) -> None:
        names = {"true": gettext("Yes"), "false": gettext("No")}
        unset = gettext("Default (%(value)s)") % {"value": names.get(site_value, site_value)}
        unset = unset if site_value else gettext("Default")
        widget: forms.Widget
        if allowed := SETTINGS[key].allowed:
            # the empty choice leaves the setting to the other layers
            choices = [("", unset), *((value, names.get(value, value)) for value in allowed)]
            widget = forms.Select(choices=choices)
        else:
            widget = forms.NumberInput(attrs={"min": 1, "max": MAX_TOKENS, "placeholder": unset})
        super().__init__(label=LABELS[key], help_text=HELP[key], required=False, widget=widget)
        self.key = key

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            return parse_setting(self.key, text) if text else None
        except SettingError as error:
            raise ValidationError(error_text(error), code="invalid_setting") from error


class ReasoningForm(forms.Form):
    """The user's ``reasoning.*`` settings for all conversations."""

    def __init__(self, data: Any = None, *, layer: Mapping[str, Any]) -> None:
        super().__init__(data, initial={key: value_text(layer.get(key)) for key in SETTINGS})
        of_site = ReasoningSettings.from_layers(settings.REASONING_DEFAULTS).as_dict()
        for key in SETTINGS:
            self.fields[key] = SettingField(key, value_text(of_site[key]))

    def layer(self) -> dict[str, Any]:
        """Return only the values that are set."""
        return {key: value for key, value in self.cleaned_data.items() if value is not None}


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """The name of a new access token."""

    class Meta:
        model = AccessToken
        fields = ("name",)


class ToggleForm(forms.Form):
    """The new state of a switch; ``conversation`` is the page's conversation."""

    on = forms.TypedChoiceField(choices=[("true", "true"), ("false", "false")], coerce=lambda value: value == "true")
    conversation = forms.UUIDField(required=False)
