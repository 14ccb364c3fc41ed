"""Sign up, the settings pane, access tokens, and the switches for what is shown."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts import preferences, profiles, scratchpad, settingwords, tokens
from accounts.forms import PreferencesForm, ReasoningForm, SignInForm, SignUpForm, SwitchForm, TokenForm
from accounts.models import AccessToken, ReasoningProfile, User
from reasoning.errors import SettingError


class SignInView(LoginView):
    """Django's own view; answers 429 while a name is closed for too many failures."""

    template_name = "accounts/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"signup_enabled": settings.SIGNUP_ENABLED}

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 429 if form.is_throttled else 200
        return response


@login_not_required
@never_cache
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """Send the admin's own sign-in to ours: one form, one limit. Someone signed in but not staff finds nothing."""
    if request.user.is_authenticated:
        raise Http404
    return redirect_to_login(request.GET.get("next") or "/admin/")


@sensitive_post_parameters()
@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    """Make an account and sign in, where ``SIGNUP_ENABLED``; 404 elsewhere."""
    if not settings.SIGNUP_ENABLED:
        raise Http404
    if request.user.is_authenticated:
        return redirect(settings.LOGIN_REDIRECT_URL)
    form = SignUpForm(request.POST or None)
    if not form.is_valid():
        return render(request, "accounts/signup.html", {"form": form})
    login(request, form.save(), backend="django.contrib.auth.backends.ModelBackend")
    return redirect(settings.LOGIN_REDIRECT_URL)


@never_cache
@require_http_methods(["GET", "POST"])
def settings_pane(request: HttpRequest) -> HttpResponse:
    """Show and save what this person sees by default."""
    form = PreferencesForm(request.POST or None, instance=_person(request))
    if not form.is_valid():
        return _pane(request, preferences_form=form)
    form.save()
    request.session.pop(preferences.SHOW_REASONING, None)
    messages.success(request, _("Saved."))
    return redirect("accounts:settings")


@never_cache
@require_POST
def save_reasoning(request: HttpRequest) -> HttpResponse:
    """Save what this person sets of ``reasoning.*``, from the next request on in all their conversations."""
    person = _person(request)
    form = ReasoningForm(request.POST, layer=person.reasoning)
    if not form.is_valid():
        return _pane(request, reasoning_form=form)
    return _set_defaults(request, form.layer())


@require_POST
def use_profile(request: HttpRequest, pk: int) -> HttpResponse:
    """Make a saved profile this person's own settings; another's is not found."""
    found = get_object_or_404(ReasoningProfile, pk=pk, owner=_person(request))
    try:
        return _set_defaults(request, profiles.load(found.owner, found.name))
    except SettingError as outdated:
        messages.error(request, settingwords.refusal(outdated))
        return redirect("accounts:settings")


@require_POST
def delete_profile(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete one of this person's own profiles; another's is not found."""
    get_object_or_404(ReasoningProfile, pk=pk, owner=_person(request)).delete()
    messages.success(request, _("The profile was deleted."))
    return redirect("accounts:settings")


@never_cache
@require_POST
def create_token(request: HttpRequest) -> HttpResponse:
    """Make an access token and show it, this once."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _pane(request, token_form=form)
    _token, plaintext = tokens.create_token(_person(request), form.cleaned_data["name"])
    return _pane(request, new_token=plaintext)


@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke one of this person's own tokens; another's is not found."""
    tokens.revoke(get_object_or_404(AccessToken, pk=pk, user=_person(request)))
    messages.success(request, _("The token was revoked."))
    return redirect("accounts:settings")


@require_POST
def toggle_show_reasoning(request: HttpRequest) -> HttpResponse:
    """Keep in this session whether reasoning is shown. 204; 400 unless ``on`` is true or false."""
    return _keep(request, preferences.SHOW_REASONING)


@require_POST
def toggle_show_trace(request: HttpRequest) -> HttpResponse:
    """Keep in this session whether the steps are shown. 204; 400 unless ``on`` is true or false."""
    return _keep(request, preferences.SHOW_TRACE)


@require_POST
def toggle_show_scratchpad(request: HttpRequest) -> HttpResponse:
    """Switch this session's live scratchpad; for everyone who may not, there is no such page. Product 9."""
    person = _person(request)
    if not preferences.visibility(person, request.session).scratchpad_possible:
        raise Http404
    form = SwitchForm(request.POST)
    if not form.is_valid():
        return _refused(form)
    scratchpad.switch(person, request.session, **form.cleaned_data)
    return _thrown(request)


def _keep(request: HttpRequest, key: str) -> HttpResponse:
    form = SwitchForm(request.POST)
    if not form.is_valid():
        return _refused(form)
    request.session[key] = form.cleaned_data["on"]
    return _thrown(request)


def _thrown(request: HttpRequest) -> HttpResponse:
    """Answer a thrown switch: 204 for the page's script, else 303 back to where the form says, if that is here."""
    target = request.POST.get("next", "")
    is_here = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    if request.headers.get("HX-Request") or not is_here:
        return HttpResponse(status=204)
    return HttpResponseRedirect(target, status=303)


def _refused(form: SwitchForm) -> HttpResponse:
    return HttpResponseBadRequest(form.errors.as_text(), content_type="text/plain; charset=utf-8")


def _pane(request: HttpRequest, **context: Any) -> HttpResponse:
    person = _person(request)
    context.setdefault("preferences_form", PreferencesForm(instance=person))
    context.setdefault("reasoning_form", ReasoningForm(layer=person.reasoning))
    context.setdefault("token_form", TokenForm())
    context["profiles"] = [(profile, settingwords.layer_text(profile.values)) for profile in profiles.saved(person)]
    context["tokens"] = person.access_tokens.order_by("-created_at")
    context["visibility"] = preferences.visibility(person, request.session)
    return render(request, "accounts/settings.html", context)


def _set_defaults(request: HttpRequest, layer: dict[str, Any]) -> HttpResponse:
    person = _person(request)
    person.reasoning = layer
    person.save(update_fields=["reasoning"])
    messages.success(request, _("Saved."))
    return redirect("accounts:settings")


def _person(request: HttpRequest) -> User:
    return cast("User", request.user)
