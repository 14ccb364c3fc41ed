"""Sign in, sign up, and the settings pane."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, BaseUserCreationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts import throttle
from accounts.models import AccessToken, User


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


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """What a new access token is for."""

    class Meta:
        model = AccessToken
        fields = ("name",)


class SwitchForm(forms.Form):
    """One switch of the page; ``conversation`` says where it was thrown."""

    on = forms.TypedChoiceField(choices=[("true", "true"), ("false", "false")], coerce=lambda word: word == "true")
    conversation = forms.UUIDField(required=False)
