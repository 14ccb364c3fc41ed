"""The models that staff run, from presets or by hand."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat import upstream
from chat.admin.base import ModelAdmin
from chat.modelforms import ModelProfileForm, preset_values
from chat.models import ModelProfile
from reasoning.presets import PRESETS


@admin.register(ModelProfile)
class ModelProfileAdmin(ModelAdmin):
    """Models by name, from presets or by hand. Keys are neither shown nor kept: only whether their variable is set."""

    form = ModelProfileForm
    change_list_template = "admin/chat/modelprofile/change_list.html"
    list_display = ("name", "label", "model", "base_url", "dialect_in_force", "key", "is_enabled", "is_default")
    search_fields = ("name", "label", "model", "base_url")
    readonly_fields = ("key", "how_to_check")
    fieldsets = (
        (None, {"fields": ("name", "label", "is_enabled", "is_default")}),
        (gettext_lazy("Endpoint"), {"fields": ("base_url", "api", "model", "api_key_env", "key")}),
        (
            gettext_lazy("Reasoning and context"),
            {"fields": ("dialect", "reasoning", "starts_in_reasoning", "context_limit")},
        ),
        (gettext_lazy("Trying it"), {"fields": ("how_to_check",)}),
    )

    @admin.display(description=gettext_lazy("dialect"))
    def dialect_in_force(self, profile: ModelProfile) -> str:
        return upstream.of_profile(profile).dialect

    @admin.display(description=gettext_lazy("key"))
    def key(self, profile: ModelProfile) -> str:
        variable = profile.api_key_env
        if profile.pk is None:
            return _("Save it first.")
        if not variable:
            return _("none needed")
        return (
            _("%(name)s is set") % {"name": variable}
            if settings.MODEL_KEYS.get(variable)
            else _("%(name)s is empty") % {"name": variable}
        )

    @admin.display(description=gettext_lazy("check"))
    def how_to_check(self, profile: ModelProfile) -> str | SafeString:
        if profile.pk is None:
            return _("Save it first.")
        words = _("One real call that says in plain words what it finds, on the server:")
        return format_html("{} <code>python manage.py check_model {}</code>", words, profile.name)

    def get_changeform_initial_data(self, request: HttpRequest) -> Any:
        preset = preset_values(request.GET.get("preset", ""))
        return preset or super().get_changeform_initial_data(request)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {**(extra_context or {}), "presets": PRESETS.values()})

    def save_model(self, request: HttpRequest, obj: ModelProfile, form: Any, change: bool) -> None:
        """There is one default: a new one takes it from the one before."""
        if obj.is_default:
            ModelProfile.objects.filter(is_default=True).exclude(pk=obj.pk).update(is_default=False)
        super().save_model(request, obj, form, change)
