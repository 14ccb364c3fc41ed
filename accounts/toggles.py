"""The on/off switches above a conversation, stored in the session."""

from __future__ import annotations

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST


class ToggleForm(forms.Form):
    """The new state of a switch; ``conversation`` is the page's conversation."""

    on = forms.TypedChoiceField(choices=[("true", "true"), ("false", "false")], coerce=lambda value: value == "true")
    conversation = forms.UUIDField(required=False)


@require_POST
def toggle_choice(request: HttpRequest, key: str) -> HttpResponse:
    """Store a choice in the session under ``key``. 400 unless ``on`` is true or false."""
    form = ToggleForm(request.POST)
    if not form.is_valid():
        return invalid_toggle(form)
    request.session[key] = form.cleaned_data["on"]
    return toggled(request)


def toggled(request: HttpRequest) -> HttpResponse:
    """Respond with 204 to htmx, else redirect (303) to the form's ``next`` if that is an address of this site."""
    target = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    if request.headers.get("HX-Request") or not is_ours:
        return HttpResponse(status=204)
    return HttpResponseRedirect(target, status=303)


def invalid_toggle(form: ToggleForm) -> HttpResponse:
    """Respond with 400 and the form's errors."""
    return HttpResponseBadRequest(form.errors.as_text(), content_type="text/plain; charset=utf-8")
