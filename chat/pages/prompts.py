"""A user's prompts, and the system prompt of one of their conversations."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.views import request_user
from chat.conversations import actions
from chat.conversations.access import get_conversation
from chat.models import Conversation, Prompt
from chat.url_converters import parse_number

MAX_PROMPTS = 100


class PromptForm(forms.ModelForm):
    """A new prompt, or another text for the one of the same name."""

    class Meta:
        model = Prompt
        fields = ("name", "text")


class SystemPromptForm(forms.ModelForm):
    """The system prompt of a conversation."""

    class Meta:
        model = Conversation
        fields = ("system_prompt",)


@never_cache
@require_http_methods(["GET", "POST"])
def prompts(request: HttpRequest) -> HttpResponse:
    """GET: the user's prompts, one of them in the form with ``edit``. POST: save one, or ``delete`` one by its id."""
    own = request_user(request).prompts
    if request.method == "GET":
        chosen = own.filter(pk=parse_number(request.GET.get("edit")) or 0).first()
        return show_prompts(request, PromptForm(instance=chosen))
    if "delete" in request.POST:
        get_object_or_404(own, pk=parse_number(request.POST["delete"])).delete()
        return redirect("chat:prompts")
    form = PromptForm(request.POST)
    if form.is_valid():
        name, text = form.cleaned_data["name"], form.cleaned_data["text"]
        # at the limit a prompt can still get another text
        if own.exclude(name=name).count() >= MAX_PROMPTS:
            form.add_error(None, _("You have %(most)s prompts already; delete one first.") % {"most": MAX_PROMPTS})
        else:
            own.update_or_create(name=name, defaults={"text": text})
            messages.success(request, _("Prompt %(name)s is saved.") % {"name": name})
            return redirect("chat:prompts")
    return show_prompts(request, form, status=400)


def show_prompts(request: HttpRequest, form: PromptForm, *, status: int = 200) -> HttpResponse:
    shown: dict[str, Any] = {"prompts": request_user(request).prompts.all(), "form": form}
    return render(request, "chat/prompts.html", shown, status=status)


@never_cache
@require_http_methods(["GET", "POST"])
def system_prompt(request: HttpRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """GET: the system prompt of a conversation in a form. POST: save it; it applies from the next message on."""
    conversation = get_conversation(request, conversation_id)
    form = SystemPromptForm(request.POST or None, instance=conversation)
    if request.method == "POST" and form.is_valid():
        actions.set_system_prompt(conversation, form.cleaned_data["system_prompt"])
        messages.success(request, _("The system prompt applies from the next message on."))
        return HttpResponseRedirect(conversation.get_absolute_url(), status=303)
    status = 400 if form.errors else 200
    return render(request, "chat/system_prompt.html", {"conversation": conversation, "form": form}, status=status)
