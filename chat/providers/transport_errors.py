"""What goes wrong on the way to a model service: nobody answers, silence, a broken connection.

The HTTP layer's own texts are never shown, since they may hold an address with a key in it. Exceptions are told by
name, because the SDK and what it stands on are imported late.
"""

from __future__ import annotations

import ssl

from chat.providers.base import ProviderError
from chat.providers.errors import Endpoint

_KINDS = (
    (
        "unreachable",
        frozenset(
            {
                "ClientConnectorError",
                "ConnectError",
                "ConnectTimeout",
                "ConnectionRefusedError",
                "ConnectionTimeoutError",
                "InvalidURL",
                "PoolTimeout",
                "ProxyError",
                "UnsupportedProtocol",
                "gaierror",
            }
        ),
    ),
    (
        "disconnected",
        frozenset(
            {
                "BrokenPipeError",
                "ClientOSError",
                "ClientPayloadError",
                "CloseError",
                "ConnectionResetError",
                "ReadError",
                "RemoteProtocolError",
                "ServerDisconnectedError",
                "WriteError",
            }
        ),
    ),
    ("timeout", frozenset({"APITimeoutError", "ReadTimeout", "SocketTimeoutError", "WriteTimeout"})),
)


def failure_from_transport(exc: BaseException, endpoint: Endpoint, *, connect_s: float, idle_s: float) -> ProviderError:
    """Turn an exception of the HTTP layer into ``unreachable``, ``timeout`` or ``disconnected``."""
    chain = _chain(exc)
    code = _code(chain)
    if any(isinstance(link, ssl.SSLError) for link in chain):
        return ProviderError(code, f"{endpoint.host} shows a certificate that is not trusted here.", retryable=False)
    messages = {
        "unreachable": f"Nothing answers at {endpoint.host} (waited at most {connect_s:g} s). "
        "Is the model server running, and is OPENAI_BASE_URL right?",
        "timeout": f"The model service at {endpoint.host} was silent for {idle_s:g} s. Try again.",
        "disconnected": f"The connection to the model service at {endpoint.host} broke off. Try again.",
    }
    return ProviderError(code, messages[code], retryable=True)


def _code(chain: list[BaseException]) -> str:
    """Judge by the innermost cause that is known.

    The transport renames exceptions on the way out and takes a dropped connection for a connect time-out (SDK 3.54,
    seen 2026-11), so the outermost name is the least reliable one.
    """
    for link in reversed(chain):
        names = {kind.__name__ for kind in type(link).__mro__}
        for code, known in _KINDS:
            if names & known:
                return code
    return "disconnected"


def _chain(exc: BaseException) -> list[BaseException]:
    links: list[BaseException] = []
    link: BaseException | None = exc
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or link.__context__
    return links
