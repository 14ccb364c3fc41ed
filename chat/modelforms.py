"""The form in which staff describe a model, and what it starts with from a preset."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from chat.models import ModelProfile
from reasoning.dialects import DIALECTS
from reasoning.errors import SettingError
from reasoning.policy import SETTINGS, ReasoningSettings
from reasoning.presets import PRESETS

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[ModelProfile]
else:
    ModelForm = forms.ModelForm

MOST_NAMESAKES = 100


class ModelProfileForm(ModelForm):
    """Refuses what could not work, naming what can. It never sees a key, only the name of a key's variable."""

    dialect = forms.ChoiceField(
        label=_("Dialect"),
        required=False,
        help_text=_("What the service takes back of its own reasoning. In doubt: found by itself."),
    )

    class Meta:
        model = ModelProfile
        fields = (
            "name",
            "label",
            "base_url",
            "api",
            "model",
            "api_key_env",
            "dialect",
            "context_limit",
            "reasoning",
            "starts_in_reasoning",
            "is_enabled",
            "is_default",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "dialect" in self.fields:  # a form that may only be looked at has no fields
            self.fields["dialect"].choices = _dialects()  # type: ignore[attr-defined]  # a ChoiceField, as above
            self.fields["reasoning"].widget.attrs["rows"] = 4
            self.fields["reasoning"].help_text = _setting_words()

    def clean_base_url(self) -> str:
        """Take a plain address: what stands before an @ would be a secret kept in the database."""
        address = str(self.cleaned_data["base_url"]).strip().rstrip("/")
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise forms.ValidationError(_("An http:// or https:// address, such as https://api.example.com/v1"))
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise forms.ValidationError(_("An address without user, query or fragment: keys stand in the environment."))
        return address

    def clean_api_key_env(self) -> str:
        """Refuse what can't be a key: our own secrets would be sent to whatever address stands above."""
        name = str(self.cleaned_data["api_key_env"])
        if name and not settings.MODEL_KEYS.may_be(name):
            raise forms.ValidationError(
                _("The name of a variable that ends in KEY or TOKEN, and none of this server’s own.")
            )
        return name

    def clean_reasoning(self) -> dict[str, Any]:
        """Name every value that is not allowed, with what is. Spec 001 ERR-001."""
        layer = self.cleaned_data["reasoning"] or {}
        if not isinstance(layer, dict):
            raise forms.ValidationError(_("An object of settings by name."))
        refused = [error for key, value in layer.items() if (error := _refusal(key, value))]
        if refused:
            raise forms.ValidationError(refused)
        return layer

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        if found.get("is_default") and not found.get("is_enabled"):
            self.add_error("is_default", _("The default must be offered as well."))
        return found

    def _get_validation_exclusions(self) -> set[str]:
        """Leave the one default to whoever saves: it is taken from the model that had it."""
        excluded = super()._get_validation_exclusions()  # type: ignore[misc]  # unknown to the stubs
        return {*excluded, "is_default"}


def preset_values(name: str) -> dict[str, Any]:
    """Return what the form starts with from this preset, under a name that is free; nothing for an unknown one."""
    preset = PRESETS.get(name)
    if preset is None:
        return {}
    return {**asdict(preset), "reasoning": dict(preset.reasoning), "name": _free_name(preset.name)}


def _free_name(name: str) -> str:
    taken = set(ModelProfile.objects.filter(name__startswith=name).values_list("name", flat=True))
    names = (name, *(f"{name}-{number}" for number in range(2, MOST_NAMESAKES)))
    return next((free for free in names if free not in taken), name)


def _refusal(key: str, value: Any) -> str:
    try:
        ReasoningSettings().with_value(key, value)
    except SettingError as error:
        return str(error)
    return ""


def _dialects() -> list[tuple[str, Any]]:
    checked = [
        (row.name, format_lazy("{name} ({checked} {month})", name=row.name, checked=_("checked"), month=row.checked))
        for row in DIALECTS.values()
    ]
    return [("", _("found by itself, from address and model")), *checked]


def _setting_words() -> Any:
    """Name the settings with what each may be."""
    known = "; ".join(f"{name}: {', '.join(setting.allowed) or '1, 2, …'}" for name, setting in SETTINGS.items())
    example = '{"reasoning.includeInContext": true}'
    return format_lazy(
        "{words} {example} · {known}", words=_("Only what differs from the site, such as"), example=example, known=known
    )
