"""Views of sign-in, sign-up, the settings page, saved profiles, access tokens and the switches of a session."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, PasswordChangeView, redirect_to_login
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from django.views.generic.edit import FormMixin
from django_htmx.middleware import HtmxDetails

from accounts import preferences
from accounts.access import tokens
from accounts.access.attempts import is_throttled
from accounts.access.visibility import SHOW_REASONING, visibility
from accounts.forms import (
    LimitedPasswordChangeForm,
    PreferencesForm,
    ReasoningForm,
    SignInForm,
    SignUpForm,
    ToggleForm,
    TokenForm,
)
from accounts.models import AccessToken, ReasoningProfile, User
from reasoning.errors import SettingError


class HtmxHttpRequest(HttpRequest):
    """A request that has passed HtmxMiddleware, for type checkers."""

    htmx: HtmxDetails


def request_user(request: HttpRequest) -> User:
    """Return the signed-in user of a request that has passed SignInMiddleware."""
    return cast("User", request.user)


class ThrottledFormMixin(FormMixin):
    """Responds with 429 to a form that was sent too often."""

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 429 if is_throttled(form) else 200
        return response


class SignInView(ThrottledFormMixin, LoginView):
    """Django's sign-in view, limited in failures."""

    template_name = "accounts/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        shown = {"signup_enabled": settings.SIGNUP_ENABLED, "unsent": self.request.POST.get("unsent", "")}
        return super().get_context_data(**kwargs) | shown

    def form_valid(self, form: Any) -> HttpResponse:
        """Show a text that was posted after the session had ended, before its page is opened again."""
        response = super().form_valid(form)
        if unsent := self.request.POST.get("unsent"):
            return render(self.request, "accounts/unsent.html", {"unsent": unsent, "next": self.get_success_url()})
        return response


class PasswordView(ThrottledFormMixin, PasswordChangeView):
    """Django's password change, also of the admin; limited in wrong old passwords."""

    template_name = "accounts/password.html"
    form_class = LimitedPasswordChangeForm
    success_url = reverse_lazy("accounts:settings")


@login_not_required
@never_cache
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect the admin's sign-in to ours, which is rate-limited. 404 for users who are signed in but not staff."""
    # not the form again: signing in once more would not help them
    if request.user.is_authenticated:
        raise Http404
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


@sensitive_post_parameters()
@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    """Create an account and sign in. 404 unless ``SIGNUP_ENABLED``."""
    if not settings.SIGNUP_ENABLED:
        raise Http404
    if request.user.is_authenticated:
        return redirect(settings.LOGIN_REDIRECT_URL)
    form = SignUpForm(request.POST or None, address=request.META.get("REMOTE_ADDR", ""))
    if not form.is_valid():
        return render(request, "accounts/signup.html", {"form": form}, status=429 if is_throttled(form) else 200)
    try:
        with transaction.atomic():
            person = form.save()
    except IntegrityError:  # two requests at once, such as a double click
        form.add_error("username", User._meta.get_field("username").error_messages["unique"])
        return render(request, "accounts/signup.html", {"form": form})
    login(request, person, backend="django.contrib.auth.backends.ModelBackend")
    return redirect(settings.LOGIN_REDIRECT_URL)


@never_cache
@require_http_methods(["GET", "POST"])
def settings_page(request: HttpRequest) -> HttpResponse:
    """GET: account, theme, language and what is stored in this browser. POST: save theme and language."""
    form = PreferencesForm(request.POST or None, instance=request_user(request))
    if not form.is_valid():
        return render(request, "accounts/settings.html", {"form": form})
    form.save()
    with override(form.instance.language or get_language()):
        return redirect_to_saved(request, "accounts:settings")


@never_cache
@require_http_methods(["GET", "POST"])
def reasoning_page(request: HttpRequest) -> HttpResponse:
    """GET: the reasoning settings and saved profiles. POST: save the settings, or ``reset`` them.

    They apply from the next request on.
    """
    user = request_user(request)
    form = ReasoningForm(request.POST or None, user=user)
    if "reset" in request.POST:
        user.reasoning, user.show_reasoning = {}, None
        user.save(update_fields=["reasoning", "show_reasoning"])
    elif form.is_valid():
        form.save()
    else:
        profiles = user.reasoning_profiles.all()
        shown = {
            "form": form,
            "profiles": [(profile, preferences.layer_text(profile.values)) for profile in profiles],
            "sees": visibility(user, request.session),
        }
        return render(request, "accounts/reasoning.html", shown)
    # The session's switch would hide the new default.
    request.session.pop(SHOW_REASONING, None)
    return redirect_to_saved(request, "accounts:settings_reasoning")


@require_POST
def use_profile(request: HttpRequest, pk: int) -> HttpResponse:
    """Replace the user's ``reasoning.*`` settings with one of their profiles."""
    profile = get_object_or_404(ReasoningProfile, pk=pk, owner=request_user(request))
    try:
        layer = preferences.load_profile(profile.owner, profile.name)
    except SettingError as error:  # it holds a value that is no longer allowed
        messages.error(request, preferences.error_text(error))
        return redirect("accounts:settings_reasoning")
    profile.owner.reasoning = layer
    profile.owner.save(update_fields=["reasoning"])
    return redirect_to_saved(request, "accounts:settings_reasoning")


@require_POST
def delete_profile(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete one of the user's profiles."""
    get_object_or_404(ReasoningProfile, pk=pk, owner=request_user(request)).delete()
    messages.success(request, _("The profile was deleted."))
    return redirect("accounts:settings_reasoning")


@never_cache
@require_http_methods(["GET", "POST"])
def tokens_page(request: HttpRequest) -> HttpResponse:
    """GET: the access tokens. POST: create one and show it once."""
    user, new_token = request_user(request), ""
    form = TokenForm(request.POST or None)
    if form.is_valid() and user.access_tokens.count() >= tokens.MAX_TOKENS:
        words = _("You have %(most)s tokens already; revoke one first.") % {"most": tokens.MAX_TOKENS}
        form.add_error("name", words)
    elif form.is_valid():
        _token, new_token = tokens.create_token(user, form.cleaned_data["name"])
        form = TokenForm()
    shown = {"form": form, "new_token": new_token, "tokens": user.access_tokens.order_by("-created_at")}
    return render(request, "accounts/tokens.html", shown)


@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke one of the user's access tokens."""
    tokens.revoke(get_object_or_404(AccessToken, pk=pk, user=request_user(request)))
    messages.success(request, _("The token was revoked."))
    return redirect("accounts:tokens")


@require_POST
def toggle_choice(request: HtmxHttpRequest, key: str) -> HttpResponse:
    """Store a choice in the session under ``key``. 400 unless ``on`` is true or false."""
    form = ToggleForm(request.POST)
    if not form.is_valid():
        return invalid_toggle(form)
    request.session[key] = form.cleaned_data["on"]
    return respond_to_toggle(request)


def respond_to_toggle(request: HtmxHttpRequest) -> HttpResponse:
    """Respond with 204 to htmx, else redirect (303) to the form's ``next`` if that is an address of this site."""
    target = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    # a foreign address would make this an open redirect
    if request.htmx or not is_ours:
        return HttpResponse(status=204)
    return HttpResponseRedirect(target, status=303)


def invalid_toggle(form: ToggleForm) -> HttpResponse:
    """Respond with 400 and the form's errors."""
    return HttpResponseBadRequest(form.errors.as_text(), content_type="text/plain; charset=utf-8")


def redirect_to_saved(request: HttpRequest, page: str) -> HttpResponseRedirect:
    """Redirect to a page of the settings, which says that they are saved."""
    messages.success(request, _("Saved."))
    return HttpResponseRedirect(reverse(page))
