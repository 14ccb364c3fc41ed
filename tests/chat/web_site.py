"""Web sites on this machine, behind names that a resolver of the test makes up."""

import datetime
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aiohttp import TCPConnector, web
from aiohttp.abc import AbstractResolver, ResolveResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from chat.web.fetch import Network

PUBLIC = "93.184.215.14"
Answer = web.StreamResponse
Handler = Callable[[web.Request], Awaitable[Answer]]


def record(host: str, port: int, address: str) -> ResolveResult:
    return ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)


@cache
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return TLS for the server, and for a client that trusts its certificate: of example.org, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "example.org")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("example.org")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "key.pem"
        file.write_bytes(pem + private)
        server.load_cert_chain(file)
    return server, ssl.create_default_context(cadata=pem.decode())


class Sites:
    """``pages``: by host and path what is answered. ``names``: by host its addresses, one list a look-up."""

    def __init__(self) -> None:
        self.pages: dict[str, Handler] = {}
        self.names: dict[str, list[list[str]]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.connected: list[list[str]] = []
        self.ports: dict[int, int] = {}

    def page(self, place: str, body: str | bytes, status: int = 200, /, **headers: str) -> None:
        """Answer so at ``example.org/path``."""
        content = body.encode() if isinstance(body, str) else body
        named = {"Content-Type": "text/html; charset=utf-8"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }

        async def answer(_request: web.Request) -> Answer:
            return web.Response(status=status, body=content, headers=named)

        self.pages[place] = answer

    def redirect(self, place: str, location: str) -> None:
        self.page(place, "", 302, Location=location)

    async def handle(self, request: web.Request) -> Answer:
        place = f"{request.headers['Host']}{request.path_qs}"
        self.requests.append((place, dict(request.headers)))
        handler = self.pages.get(place)
        return await handler(request) if handler else web.Response(status=404)

    @property
    def places(self) -> list[str]:
        return [place for place, _headers in self.requests]

    def network(self) -> Network:
        """Return a network in which these names have these addresses, and all addresses are this server."""
        sites = self

        class Names(AbstractResolver):
            async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
                known = sites.names.get(host, [[PUBLIC]])
                addresses = known.pop(0) if len(known) > 1 else known[0]
                return [record(host, port, each) for each in addresses]

            async def close(self) -> None: ...

        class Here(AbstractResolver):
            def __init__(self, checked: AbstractResolver) -> None:
                self.checked = checked

            async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
                found = await self.checked.resolve(host, port, family)
                sites.connected.append([each["host"] for each in found])
                return [record(host, sites.ports[port], "127.0.0.1")]

            async def close(self) -> None: ...

        _server, client = contexts()
        return Network(Names, lambda checked: TCPConnector(resolver=Here(checked), use_dns_cache=False, ssl=client))

    async def start(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        server, _client = contexts()
        for context in (None, server):
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        self.ports = {named: address[1] for named, address in zip((80, 443), runner.addresses, strict=True)}
        return runner
