"""URLs below ``/accounts/``."""

from django.contrib.auth import views as auth_views
from django.urls import path

from accounts import views
from accounts.access import scratchpad, visibility

app_name = "accounts"
urlpatterns = [
    path("login/", views.SignInView.as_view(), name="login"),
    path("logout/", auth_views.LogoutView.as_view(), name="logout"),
    path("signup/", views.sign_up, name="signup"),
    path("password/", views.PasswordView.as_view(), name="password"),
    path("settings/", views.settings_page, name="settings"),
    path("settings/reasoning/", views.reasoning_page, name="settings_reasoning"),
    path("profiles/<int:pk>/use/", views.use_profile, name="profile_use"),
    path("profiles/<int:pk>/delete/", views.delete_profile, name="profile_delete"),
    path("tokens/", views.tokens_page, name="tokens"),
    path("tokens/<int:pk>/revoke/", views.revoke_token, name="token_revoke"),
    path(
        "toggles/show-reasoning/",
        views.toggle_choice,
        {"key": visibility.SHOW_REASONING},
        name="toggle_show_reasoning",
    ),
    path("toggles/show-trace/", views.toggle_choice, {"key": visibility.SHOW_TRACE}, name="toggle_show_trace"),
    path("toggles/show-scratchpad/", scratchpad.toggle, name="toggle_show_scratchpad"),
]
