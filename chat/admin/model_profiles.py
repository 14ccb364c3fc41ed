"""Model profiles: created from presets or by hand. An API key is never stored or shown, only its variable's name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.decorators import method_decorator
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts.admin import DeclaredLookupsMixin, ReadOnlyAdmin
from accounts.preferences import LABELS, error_text, value_label, value_text
from chat.admin.base import key_refusal
from chat.conversations import model_choice
from chat.model_check import MAX_CONTEXT, MIN_CONTEXT, check_model
from chat.models import LearnedFacts, ModelProfile
from chat.providers.address import InvalidAddressError, check_address, host_of
from chat.providers.base import ProviderError
from chat.texts.error_texts import address_text, failure_text
from reasoning.errors import SettingError
from reasoning.replay.dialects import DIALECTS, PRESETS
from reasoning.settings import SETTINGS, parse_setting

MAX_NAMESAKES = 100
# What a test of the connection may store.
TESTED_FIELDS = ("thinking_format", "starts_in_reasoning", "takes_tools", "takes_images", "context_limit", "dialect")


class ReasoningWidget(forms.MultiWidget):
    """A list or a number for each ``reasoning.*`` setting, in the order of SETTINGS."""

    def __init__(self) -> None:
        super().__init__([self.widget_of(key) for key in SETTINGS])

    def widget_of(self, key: str) -> forms.Widget:
        label = LABELS[key]
        if not (allowed := SETTINGS[key].allowed):
            return forms.NumberInput(attrs={"placeholder": label, "aria-label": label})
        # MultiWidget draws no labels, so each choice names its setting
        words = {"": _("default"), **{value: value_label(key, value) for value in allowed}}
        choices = [(value, f"{label}: {word}") for value, word in words.items()]
        return forms.Select(choices=choices, attrs={"aria-label": label})

    def decompress(self, value: Any) -> list[str]:
        return texts_of(value)


class ReasoningField(forms.Field):
    """A model's layer of ``reasoning.*`` settings. What is not allowed is named with what is. Spec 001 ERR-001."""

    def clean(self, value: Any) -> dict[str, Any]:
        layer, errors = {}, []
        # not strict: a request without these fields has no values
        for key, text in zip(SETTINGS, value or (), strict=False):
            try:
                if text:
                    layer[key] = parse_setting(key, text)
            except SettingError as error:
                errors.append(error_text(error))
        if errors:
            raise forms.ValidationError(errors)
        return layer

    def has_changed(self, initial: Any, data: Any) -> bool:
        return texts_of(initial) != list(data or ())


def texts_of(layer: Any) -> list[str]:
    """Return the value of each setting as staff type it; empty: not set."""
    values = layer if isinstance(layer, dict) else {}
    return [value_text(values.get(key)) for key in SETTINGS]


class TestedForm(forms.ModelForm):
    """What a test of the connection has found, as the profile stores it."""

    context_limit = forms.IntegerField(
        label=gettext_lazy("Context limit"), required=False, min_value=MIN_CONTEXT, max_value=MAX_CONTEXT
    )

    class Meta:
        model = ModelProfile
        fields = TESTED_FIELDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Of what was found the person may store a part.
        for name in self.fields.keys() - self.data.keys():
            del self.fields[name]


class ModelProfileForm(forms.ModelForm):
    """Refuses what could not work and names what would. Its other fields are those of the admin's fieldsets."""

    context_limit = forms.IntegerField(
        label=gettext_lazy("Context limit"),
        required=False,
        min_value=MIN_CONTEXT,
        max_value=MAX_CONTEXT,
        help_text=gettext_lazy("In tokens; empty: CONTEXT_LIMIT."),
    )
    dialect = forms.ChoiceField(
        label=gettext_lazy("Dialect"),
        required=False,
        help_text=gettext_lazy(
            "Which of its own reasoning the service accepts. In doubt leave it to the automatic choice."
        ),
    )

    reasoning = ReasoningField(
        label=gettext_lazy("Reasoning settings"),
        required=False,
        help_text=gettext_lazy("Only what differs from the site."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "dialect" in self.fields:  # a form that may only be looked at has no fields
            self.fields["reasoning"].widget = ReasoningWidget()  # in the viewer's language
            self.fields["dialect"].choices = dialect_choices()  # type: ignore[attr-defined]  # a ChoiceField, as above
            self.fields["api_key_env"].help_text = _(
                "An environment variable that MODEL_KEYS lists for the host of the address; empty where none is needed."
            )
            for name in ("takes_tools", "takes_images"):
                words = [("unknown", _("automatic")), ("true", _("yes")), ("false", _("no"))]
                self.fields[name].widget.choices = words

    def clean_base_url(self) -> str:
        """Refuse what is no usable address, and user information, which would be a secret stored in the database."""
        try:
            return check_address(str(self.cleaned_data["base_url"]))
        except InvalidAddressError as error:
            raise forms.ValidationError(address_text(error.problem)) from error

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        if found.get("is_default") and not found.get("is_enabled"):
            self.add_error("is_default", _("The default must be offered as well."))
        if "base_url" in found and (refusal := key_refusal(found.get("api_key_env", ""), found["base_url"])):
            self.add_error("api_key_env", refusal)
        return found

    def _get_validation_exclusions(self) -> set[str]:
        """Don't check that the default is unique: ``save_model`` takes it from the profile that had it."""
        excluded = super()._get_validation_exclusions()  # type: ignore[misc]  # unknown to the stubs
        return {*excluded, "is_default"}


@admin.register(ModelProfile)
class ModelProfileAdmin(DeclaredLookupsMixin):
    """Model profiles by name."""

    form = ModelProfileForm
    change_list_template = "admin/chat/modelprofile/change_list.html"
    change_form_template = "admin/chat/modelprofile/change_form.html"
    list_display = (
        "name",
        "label",
        "model",
        "base_url",
        "effective_dialect",
        "key",
        "problem",
        "is_enabled",
        "is_default",
    )
    search_fields = ("name", "label", "model", "base_url")
    readonly_fields = ("key", "problem")
    fieldsets = (
        (None, {"fields": ("name", "label", "is_enabled", "is_default")}),
        (gettext_lazy("Endpoint"), {"fields": ("base_url", "api", "model", "api_key_env", "key", "problem")}),
        (
            gettext_lazy("Reasoning and context"),
            {
                "fields": (
                    "dialect",
                    "reasoning",
                    "system_prompt",
                    "starts_in_reasoning",
                    "thinking_format",
                    "takes_tools",
                    "takes_images",
                    "context_limit",
                )
            },
        ),
    )

    @admin.display(description=gettext_lazy("dialect"))
    def effective_dialect(self, profile: ModelProfile) -> str:
        return model_choice.of_profile(profile).dialect

    @admin.display(description=gettext_lazy("key"))
    def key(self, profile: ModelProfile) -> str:
        variable = profile.api_key_env
        if profile.pk is None:
            return _("Save to test.")
        if not variable:
            return _("none needed")
        words = {"name": variable, "host": host_of(profile.base_url)}
        if variable not in settings.MODEL_KEYS.variables_for(profile.base_url):
            return _("%(name)s is not for %(host)s") % words
        has_key = settings.MODEL_KEYS.get(variable, profile.base_url)
        return (_("%(name)s is set") if has_key else _("%(name)s is empty")) % words

    @admin.display(description=gettext_lazy("problem"))
    def problem(self, profile: ModelProfile) -> str:
        chosen = model_choice.of_profile(profile) if profile.pk else None
        if chosen is None or chosen.problem is None:
            return ""
        return failure_text(ProviderError(*chosen.problem, retryable=False), for_staff=True, place=chosen.place)

    def get_urls(self) -> list[Any]:
        test = path("<int:pk>/test/", self.admin_site.admin_view(self.test_view), name="chat_modelprofile_test")
        store = path(
            "<int:pk>/test/store/", self.admin_site.admin_view(self.store_view), name="chat_modelprofile_store"
        )
        return [test, store, *super().get_urls()]

    def changeable(self, request: HttpRequest, pk: int) -> ModelProfile:
        """Return the profile if this person may change it. Raises Http404 and PermissionDenied."""
        profile = get_object_or_404(ModelProfile, pk=pk)
        if not self.has_change_permission(request, profile):
            raise PermissionDenied
        return profile

    @method_decorator(require_POST)
    def test_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Make a few real calls to the model, as ``manage.py check_model`` does, and offer to store what was found."""
        profile = self.changeable(request, pk)
        context: dict[str, Any] = {**self.admin_site.each_context(request), "opts": self.opts, "profile": profile}
        chosen = model_choice.of_profile(profile)
        try:
            context["model"], rows = async_to_sync(check_model)(chosen, profile)
            context |= {"rows": rows, "has_news": any(row.field for row in rows)}
        except ProviderError as error:
            context["error"] = failure_text(error, for_staff=True, place=chosen.place)
        return TemplateResponse(request, "admin/chat/modelprofile/test.html", context)

    @method_decorator(require_POST)
    def store_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Store what a test has found, as far as it was chosen."""
        profile = self.changeable(request, pk)
        form = TestedForm(request.POST, instance=profile)
        if not form.is_valid():
            for errors in form.errors.values():
                messages.error(request, " ".join(map(str, errors)))
        elif form.changed_data:
            profile.save(update_fields=form.changed_data)
            labels = [str(form[name].label) for name in form.changed_data]
            self.log_change(request, profile, [{"changed": {"fields": labels}}])
            messages.success(request, _("Stored: %(fields)s.") % {"fields": ", ".join(labels)})
        else:
            messages.info(request, _("Nothing was chosen, so nothing was stored."))
        return redirect("admin:chat_modelprofile_change", profile.pk)

    def get_changeform_initial_data(self, request: HttpRequest) -> Any:
        preset = preset_values(request.GET.get("preset", ""))
        return preset or super().get_changeform_initial_data(request)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {**(extra_context or {}), "presets": PRESETS.values()})

    def save_model(self, request: HttpRequest, obj: ModelProfile, form: Any, change: bool) -> None:
        """There is one default: a new one replaces the previous one."""
        if obj.is_default:
            # before the save: the database allows one default
            ModelProfile.objects.filter(is_default=True).exclude(pk=obj.pk).update(is_default=False)
        super().save_model(request, obj, form, change)


def preset_values(name: str) -> dict[str, Any]:
    """Return the form's initial values from a preset, under a free name; nothing for an unknown preset."""
    preset = PRESETS.get(name)
    if preset is None:
        return {}
    # names are unique, and a preset may be used for several keys or addresses
    used = set(ModelProfile.objects.filter(name__startswith=preset.name).values_list("name", flat=True))
    names = (preset.name, *(f"{preset.name}-{number}" for number in range(2, MAX_NAMESAKES)))
    name = next((name for name in names if name not in used), preset.name)
    return {**asdict(preset), "reasoning": dict(preset.reasoning), "name": name}


def dialect_choices() -> list[tuple[str, Any]]:
    checked = [
        (row.name, format_lazy("{name} ({checked} {month})", name=row.name, checked=_("checked"), month=row.checked))
        for row in DIALECTS.values()
    ]
    return [("", _("auto-detected from address and model")), *checked]


@admin.register(LearnedFacts)
class LearnedFactsAdmin(ReadOnlyAdmin):
    """What services stated or refused. A row that is deleted is learned again."""

    deletable = True
    list_display = (
        "model",
        "endpoint",
        "listed",
        "refused",
        "tools_refused_at",
        "reasoning_wanted_at",
        "updated_at",
    )
    search_fields = ("model",)

    @admin.display(description=gettext_lazy("address"), ordering="provider")
    def endpoint(self, facts: LearnedFacts) -> str:
        return facts.provider.rpartition("#")[0]
