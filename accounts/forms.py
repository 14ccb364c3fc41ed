"""Sign in, sign up, and the settings pane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, BaseUserCreationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts import throttle
from accounts.models import AccessToken, User
from accounts.settingwords import HELP, LABELS, refusal, value_text
from reasoning.errors import SettingError
from reasoning.policy import MOST_TOKENS, SETTINGS, parsed

_FALLS_THROUGH = _("As the site or the model has it")


class SignInForm(AuthenticationForm):
    """Django's own form, closed for a while after too many failures for one name from one address."""

    is_throttled = False

    def clean(self) -> dict[str, Any]:
        key = throttle.key(self.data.get("username", ""), self._address())
        if throttle.is_closed(key):
            self.is_throttled = True
            raise ValidationError(
                _("Too many failed attempts for this name from your address. Try again in %(minutes)d minutes."),
                code="throttled",
                params={"minutes": throttle.WINDOW_S // 60},
            )
        try:
            cleaned = super().clean()
        except ValidationError:
            throttle.count_failure(key)
            raise
        throttle.forget(key)
        return cleaned

    def _address(self) -> str:
        return self.request.META.get("REMOTE_ADDR", "") if self.request else ""


class SignUpForm(BaseUserCreationForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """A name and a password, twice."""

    class Meta:
        model = User
        fields = ("username",)


class PreferencesForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """What a person sees unless a session says otherwise."""

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
    """One ``reasoning.*`` setting; left empty it falls through to the site and the model. Spec 001 ERR-001."""

    def __init__(self, key: str) -> None:
        super().__init__(label=LABELS[key], help_text=HELP[key], required=False, widget=_widget(key))
        self.key = key

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            return parsed(self.key, text) if text else None
        except SettingError as error:
            raise ValidationError(refusal(error), code="invalid_setting") from error


class ReasoningForm(forms.Form):
    """What a person sets of ``reasoning.*`` for all their conversations."""

    def __init__(self, data: Any = None, *, layer: Mapping[str, Any]) -> None:
        super().__init__(data, initial={key: value_text(layer.get(key)) for key in SETTINGS})
        for key in SETTINGS:
            self.fields[key] = SettingField(key)

    def layer(self) -> dict[str, Any]:
        """Return what was set, without what falls through."""
        return {key: value for key, value in self.cleaned_data.items() if value is not None}


def _widget(key: str) -> forms.Widget:
    words = SETTINGS[key].allowed
    if not words:
        return forms.NumberInput(attrs={"min": 1, "max": MOST_TOKENS, "placeholder": _FALLS_THROUGH})
    said = {"true": _("Yes"), "false": _("No")}
    return forms.Select(choices=[("", _FALLS_THROUGH), *((word, said.get(word, word)) for word in words)])


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """What a new access token is for."""

    class Meta:
        model = AccessToken
        fields = ("name",)


class SwitchForm(forms.Form):
    """One switch of the page; ``conversation`` says where it was thrown."""

    on = forms.TypedChoiceField(choices=[("true", "true"), ("false", "false")], coerce=lambda word: word == "true")
    conversation = forms.UUIDField(required=False)
