"""Forms of sign-in, sign-up, the settings page and the switches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, BaseUserCreationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts import throttle
from accounts.models import AccessToken, User
from accounts.setting_labels import HELP, LABELS, error_text, value_text
from reasoning.errors import SettingError
from reasoning.settings import MAX_TOKENS, SETTINGS, parse_setting

UNSET_LABEL = _("As the site or the model has it")


class SignInForm(AuthenticationForm):
    """Django's sign-in form, limited per user name and address."""

    is_throttled = False

    def clean(self) -> dict[str, Any]:
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        counter = throttle.key(self.data.get("username", ""), address)
        if throttle.is_blocked(counter):
            self.is_throttled = True
            raise ValidationError(
                _("Too many failed attempts for this name from your address. Try again in %(minutes)d minutes."),
                code="throttled",
                params={"minutes": throttle.WINDOW_S // 60},
            )
        try:
            cleaned = super().clean()
        except ValidationError:
            throttle.count_failure(counter)
            raise
        throttle.reset(counter)
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
            choices=[("unknown", _("As this site has it")), ("true", _("Shown")), ("false", _("Hidden"))]
        ),
        required=False,
    )

    class Meta:
        model = User
        fields = ("show_reasoning",)


class SettingField(forms.CharField):
    """One ``reasoning.*`` setting; empty leaves it to the model or the site. Spec 001 ERR-001."""

    def __init__(self, key: str) -> None:
        widget: forms.Widget
        if allowed := SETTINGS[key].allowed:
            labels = {"true": _("Yes"), "false": _("No")}
            choices = [("", UNSET_LABEL), *((value, labels.get(value, value)) for value in allowed)]
            widget = forms.Select(choices=choices)
        else:
            widget = forms.NumberInput(attrs={"min": 1, "max": MAX_TOKENS, "placeholder": UNSET_LABEL})
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
        for key in SETTINGS:
            self.fields[key] = SettingField(key)

    def layer(self) -> dict[str, Any]:
        """Return only the values that are set."""
        return {key: value for key, value in self.cleaned_data.items() if value is not None}


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """The name of a new access token."""

    class Meta:
        model = AccessToken
        fields = ("name",)
