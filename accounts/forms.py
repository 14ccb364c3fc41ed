"""Forms of sign-in, sign-up and password change, with limits on attempts; of the settings page and the switches."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import redis
from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, UserCreationForm
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
SIGN_UPS_ALLOWED = 60  # behind a proxy all have one address
WINDOW_S = 300
T = TypeVar("T")
logger = logging.getLogger(__name__)
fallback_cache = LocMemCache("attempts", {})


class AttemptLimit:
    """Count attempts at one door in Django's cache: Redis, where all processes share one.

    ``parts`` say whose attempts are counted together. The window of ``WINDOW_S`` starts with the first attempt.
    """

    def __init__(self, door: str, *parts: str | bytes, allowed: int = FAILURES_ALLOWED) -> None:
        # a hash, so that neither name nor address is stored
        digest = hashlib.sha256(repr(parts).encode("ascii", "backslashreplace")).hexdigest()
        self.key = f"{door}:{digest}"
        self.allowed = allowed

    def take(self) -> bool:
        """Count one attempt, before it is tried, so that parallel ones count too; return whether it is allowed."""

        def count(counts: BaseCache) -> int:
            if counts.add(self.key, 1, WINDOW_S):
                return 1
            try:
                return int(counts.incr(self.key))
            except ValueError:  # the window ended between the two calls
                counts.add(self.key, 1, WINDOW_S)
                return 1

        return self.with_cache(count) <= self.allowed

    def reset(self) -> None:
        self.with_cache(lambda counts: counts.delete(self.key))

    def with_cache(self, operation: Callable[[BaseCache], T]) -> T:
        # Users must be able to sign in during a Redis outage: each process then counts for itself.
        try:
            return operation(cache)
        except redis.RedisError as error:
            logger.warning("Redis is unavailable, attempts counted locally", extra={"error": type(error).__name__})
            return operation(fallback_cache)


def throttled(message: str) -> ValidationError:
    """Return the error of a form that was sent too often; ``is_throttled`` finds it."""
    return ValidationError(message, code="throttled", params={"minutes": WINDOW_S // 60})


def is_throttled(form: forms.BaseForm) -> bool:
    return any(form.has_error(field, "throttled") for field in form.errors)


class SignInForm(AuthenticationForm):
    """Django's sign-in form, limited per user name and address."""

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if not name or not password:  # nothing is tried
            return super().clean()
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        # The field has normalised the name (NFKC), as the account's was. Only ASCII letters count
        # as the same in both cases: so does the check for taken names on SQLite, and nobody can own a second account
        # whose sign-ins reset the count of the first.
        attempts = AttemptLimit("sign-in", name.encode("utf-8", "replace").lower(), address)
        if not attempts.take():
            raise throttled(
                gettext("Too many failed attempts for this name from your address. Try again in %(minutes)d minutes.")
            )
        cleaned = super().clean()
        attempts.reset()
        return cleaned


class LimitedPasswordChangeForm(PasswordChangeForm):
    """Django's form with a limit on wrong old passwords: a session left open must not let others guess them."""

    def clean_old_password(self) -> str:
        attempts = AttemptLimit("password-change", str(self.user.pk))
        if not attempts.take():
            raise throttled(gettext("Too many attempts. Try again in %(minutes)d minutes."))
        old_password = super().clean_old_password()
        attempts.reset()
        return old_password


class SignUpForm(UserCreationForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """User name and password, limited per address."""

    def __init__(self, *args: Any, address: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.address = address

    def clean_username(self) -> Any:
        # before the name is looked up: the answer says which names are taken
        if not AttemptLimit("sign-up", self.address, allowed=SIGN_UPS_ALLOWED).take():
            raise throttled(gettext("Too many attempts. Try again in %(minutes)d minutes."))
        return super().clean_username()

    class Meta(UserCreationForm.Meta):
        model = User


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
