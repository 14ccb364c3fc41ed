import pytest

STRICT = {
    "default-src 'self'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
    "form-action 'self'", "object-src 'none'", "base-uri 'none'", "frame-src 'none'", "frame-ancestors 'none'",
}  # fmt: skip


@pytest.mark.parametrize("url", ["/accounts/login/", "/accounts/settings/", "/admin/", "/no-such-page/"])
def test_every_page_has_a_strict_content_security_policy(client, sam, url):
    client.force_login(sam)
    response = client.get(url)

    assert set(response["Content-Security-Policy"].split("; ")) == STRICT
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in response["Permissions-Policy"]
    assert "private" in response["Cache-Control"]


@pytest.mark.django_db(transaction=True)
async def test_headers_are_set_under_asgi(async_client):
    response = await async_client.get("/accounts/login/")

    assert "camera=()" in response["Permissions-Policy"]
    assert "script-src 'self'" in response["Content-Security-Policy"]


def test_session_cookie_is_httponly_and_same_site(client, alice):
    client.force_login(alice)
    client.post("/accounts/toggles/show-trace/", {"on": "true"})

    cookie = client.cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
