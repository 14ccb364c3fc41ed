"""Forms of sign-in, sign-up and password change, of the settings pages and of the switches."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, UserCreationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.access.attempts import AttemptLimit, require_attempt, throttle_error
from accounts.access.visibility import site_flags
from accounts.models import AccessToken, User
from accounts.preferences import HELP, LABELS, error_text, value_label, value_text
from reasoning.errors import SettingError
from reasoning.settings import MAX_TOKENS, SETTINGS, ReasoningSettings, parse_setting
from reasoning.visibility import Viewer, visibility

FAILURES_OF_NAME_ALLOWED = 100  # from all addresses but those of the owner
SIGN_UPS_ALLOWED = 60  # behind a proxy all have one address
PASSWORD_HELP = _("At least 8 characters. No common password, not only digits, and not like your user name.")
SHOW_THINKING = "reasoning.includeInResponse"
# The order on the page.
ASKED = (
    "reasoning.enabled",
    "reasoning.effort",
    "reasoning.maxTokens",
    "reasoning.summary",
    "reasoning.mode",
)
STEPS_HELP = _(
    "Two to five points on how the answer was produced, open under each answer. What was searched and opened, with "
    "secrets masked, closed until you open it."
)
STEPS_ON_REQUEST_HELP = _(
    "Two to five points on how the answer was produced, open under each answer. What was searched and opened is left "
    "out until you ask for it."
)
THINKING_HELP: dict[str, Any] = {
    "whole": _("The model’s own words, masked. Closed until you open it."),
    "excerpt": _("The model’s own words, masked and cut to about 200 tokens by this site. Closed until you open it."),
    "withheld": _("Hidden for your account."),
    "none": "",
}


class SignInForm(AuthenticationForm):
    """Django's sign-in form, limited per user name and address, and per name from unknown addresses."""

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if not name or not password:  # nothing is tried
            return super().clean()
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        # The field has normalised the name (NFKC), as the account's was. Only ASCII letters are compared without case,
        # as by SQLite in the check for existing names: so no second account's sign-ins reset the count of the first.
        name = name.encode("utf-8", "replace").lower()
        attempts = AttemptLimit("sign-in", name, address)
        # An address from which this name has signed in is spared: otherwise anybody could lock the owner out.
        known_address = AttemptLimit("known-address", name, address)
        elsewhere = AttemptLimit("sign-in-name", name, allowed=FAILURES_OF_NAME_ALLOWED)
        if not attempts.take():
            raise throttle_error(
                gettext("Too many failed attempts for this name from your address. Try again in %(minutes)d minutes.")
            )
        if not known_address.is_remembered() and not elsewhere.take():
            raise throttle_error(gettext("Too many failed attempts for this name. Try again in %(minutes)d minutes."))
        cleaned = super().clean()
        attempts.reset()
        known_address.remember()
        return cleaned


class LimitedPasswordChangeForm(PasswordChangeForm):
    """Django's form with a limit on wrong old passwords: a session left open must not let others guess them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["new_password1"].help_text = PASSWORD_HELP
        self.fields["new_password2"].help_text = ""

    def clean_old_password(self) -> str:
        attempts = AttemptLimit("password-change", str(self.user.pk))
        require_attempt(attempts)
        old_password = super().clean_old_password()
        attempts.reset()
        return old_password


class SignUpForm(UserCreationForm):
    """User name and password, limited per address."""

    def __init__(self, *args: Any, address: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.address = address
        self.fields["username"].help_text = _("Letters, digits and @ . + - _")
        self.fields["password1"].help_text = PASSWORD_HELP
        self.fields["password2"].help_text = ""

    def clean_username(self) -> Any:
        # before the name is looked up: the response reveals which names exist
        require_attempt(AttemptLimit("sign-up", self.address, allowed=SIGN_UPS_ALLOWED))
        return super().clean_username()

    class Meta(UserCreationForm.Meta):
        model = User


class PasswordForm(forms.Form):
    """The user's password again, before something that can't be undone; limited like a password change."""

    password = forms.CharField(
        label=_("Password"), strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )

    def __init__(self, user: User, data: Any = None) -> None:
        super().__init__(data)
        self.user = user

    def clean_password(self) -> str:
        attempts = AttemptLimit("password-change", str(self.user.pk))
        require_attempt(attempts)
        password = str(self.cleaned_data["password"])
        if not self.user.check_password(password):
            raise ValidationError(gettext("That is not your password."), code="password_incorrect")
        attempts.reset()
        return password


class PreferencesForm(forms.ModelForm):
    """Theme and language; a field that isn't posted doesn't change."""

    class Meta:
        model = User
        fields = ("theme", "language")
        widgets = {"theme": forms.RadioSelect, "language": forms.RadioSelect}  # noqa: RUF012 - Django's own form


class SettingField(forms.CharField):
    """One ``reasoning.*`` setting; empty leaves it to the model or the site. Spec 001 ERR-001."""

    def __init__(self, key: str, default: Any) -> None:
        unset = gettext("Default (%(value)s)") % {"value": value_label(key, default)}
        widget: forms.Widget
        if allowed := SETTINGS[key].allowed:
            widget = forms.RadioSelect(choices=[("", unset), *((value, value_label(key, value)) for value in allowed)])
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
    """What the user sees beside an answer, as check boxes, and their other ``reasoning.*`` settings.

    A check box shows what is in force, and is stored once it is changed: until then the site's default decides.
    """

    show_reasoning = forms.BooleanField(label=_("Reasoning summary and steps"), required=False)

    def __init__(self, data: Any = None, *, user: User) -> None:
        own, of_site = user.reasoning or {}, ReasoningSettings.from_layers(settings.REASONING_DEFAULTS)
        shows = settings.REASONING_SHOW_SUMMARY_DEFAULT if user.show_reasoning is None else user.show_reasoning
        super().__init__(
            data,
            initial={
                **{key: value_text(own.get(key)) for key in SETTINGS},
                SHOW_THINKING: own.get(SHOW_THINKING, of_site.include_in_response),
                "show_reasoning": shows,
            },
        )
        self.user = user
        # what this user sees with both boxes checked
        most = visibility(site_flags(), Viewer(is_administrator=user.is_administrator, show_reasoning=True))
        self.fields["show_reasoning"].help_text = STEPS_HELP if most.trace else STEPS_ON_REQUEST_HELP
        for key, setting in SETTINGS.items():
            self.fields[key] = (
                SettingField(key, getattr(of_site, setting.field))
                if key in HELP
                else forms.BooleanField(
                    label=_("Thinking"),
                    help_text=THINKING_HELP[most.thinking],
                    required=False,
                    disabled=not most.may_open_thinking,
                )
            )

    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Return the fields by group, for the page."""
        return [
            (gettext("What you see"), [self["show_reasoning"], self[SHOW_THINKING]]),
            (gettext("What models are asked for"), [self[key] for key in ASKED]),
            (gettext("Earlier thinking in requests"), [self[key] for key in HELP if key not in ASKED]),
        ]

    def save(self) -> None:
        """Store the values that are set."""
        layer = {key: self.cleaned_data[key] for key in HELP if self.cleaned_data[key] is not None}
        if SHOW_THINKING in self.changed_data:
            layer[SHOW_THINKING] = self.cleaned_data[SHOW_THINKING]
        elif SHOW_THINKING in self.user.reasoning:
            layer[SHOW_THINKING] = self.user.reasoning[SHOW_THINKING]
        if "show_reasoning" in self.changed_data:
            self.user.show_reasoning = self.cleaned_data["show_reasoning"]
        self.user.reasoning = layer
        self.user.save(update_fields=["reasoning", "show_reasoning"])


class TokenForm(forms.ModelForm):
    """The name of a new access token."""

    class Meta:
        model = AccessToken
        fields = ("name",)


class ToggleForm(forms.Form):
    """The new state of a switch; ``conversation`` is the page's conversation."""

    on = forms.TypedChoiceField(choices=[("true", "true"), ("false", "false")], coerce=lambda value: value == "true")
    conversation = forms.UUIDField(required=False)
