"""The products whose exports are read. One more is a module with its reader, and a row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from django.utils.text import get_text_list
from django.utils.translation import gettext as _

from chat.sharing.imports.chatgpt import is_chatgpt, read_chatgpt
from chat.sharing.imports.claude import is_claude, read_claude
from chat.sharing.imports.conversation import ExportedConversation
from chat.sharing.imports.legible import is_legible, read_legible
from chat.sharing.imports.librechat import is_librechat, read_librechat
from chat.sharing.imports.open_webui import is_open_webui, read_open_webui


class Product(NamedTuple):
    """How a conversation of a product is recognised, and read. ``form`` is its JSON."""

    name: str
    wrote: Callable[[Mapping[str, Any]], bool]
    read: Callable[[Mapping[str, Any]], ExportedConversation]


# The first that recognises a conversation reads it.
PRODUCTS = (
    Product("ChatGPT", is_chatgpt, read_chatgpt),
    Product("Claude", is_claude, read_claude),
    Product("LibreChat", is_librechat, read_librechat),
    Product("Open WebUI", is_open_webui, read_open_webui),
    Product("Legible", is_legible, read_legible),
)


def product_names() -> str:
    """Return the names in one phrase, such as "A, B or C"."""
    return get_text_list([product.name for product in PRODUCTS], _("or"))


def read_conversation(form: object) -> ExportedConversation | None:
    """Return a conversation; None where no product is recognised."""
    if not isinstance(form, dict):
        return None
    return next((product.read(form) for product in PRODUCTS if product.wrote(form)), None)
