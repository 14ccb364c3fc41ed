"""Reading what a provider streams."""

from collections.abc import Sequence

from chat.providers.base import Provider, ProviderError, ProviderRequest
from reasoning.deltas import RawDelta, RawFields


async def answer(provider: Provider, request: ProviderRequest) -> list[RawDelta]:
    """Return the deltas of one response."""
    return [delta async for delta in provider.stream(request)]


async def failure(provider: Provider, request: ProviderRequest) -> tuple[list[RawDelta], ProviderError]:
    """Return what came before the failure, and the failure."""
    received: list[RawDelta] = []
    try:
        async for delta in provider.stream(request):
            received.append(delta)
    except ProviderError as error:
        return received, error
    raise AssertionError("the provider did not fail")


def text(deltas: Sequence[RawDelta], field: str = "content") -> str:
    """Return the text of one field."""
    return "".join(delta.fields.get(field, "") for delta in deltas if isinstance(delta, RawFields))
