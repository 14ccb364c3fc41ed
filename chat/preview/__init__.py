"""The egress preview: what the next request of a conversation will hold, what it leaves out and why, what it costs.

``read`` plans that request as a turn does and lets the provider say what it would send, so that preview and reality
cannot differ; nothing is sent. ``as_json`` is the exact form, for the command alone; ``view`` is what a page may show,
redacted (product 10).

The next question is not asked yet, so it stands nowhere in the preview: it will be one more entry at the end. History
too long for the model is summarised before that question is sent; until then the preview shows it as it is, and says
so. What a service refused of itself is known to the server that asked it, not to the command.
"""

from chat.preview.request import NextRequest, NoPreview, as_json, chosen_model, read
from chat.preview.view import PreviewView, view

__all__ = ["NextRequest", "NoPreview", "PreviewView", "as_json", "chosen_model", "read", "view"]
