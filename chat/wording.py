"""English words that are kept or that name no catalogue, in the reader's language when they are shown.

The log, the tools and the providers hold plain English: what is stored must read the same for everyone, and tools and
providers know no Django. What of it is fixed is listed here, so that catalogues hold it; what carries a host, a number
or a service's own words stays as it is.
"""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop, ngettext

KEPT = frozenset(
    {
        # Turn.model, as the offline analyst calls itself
        gettext_noop("Offline analyst"),
        # Turn.error_message
        gettext_noop("Stopped: something went wrong on this server."),
        gettext_noop("The model service ended the answer in the middle. Try again."),
        gettext_noop(
            "The model service did not accept the key, or the key may not use this model. Check OPENAI_API_KEY."
        ),
        gettext_noop("The account at the model service has no quota left. Top it up, or use another key."),
        gettext_noop("The model service takes no more requests just now. Try again in a moment."),
        gettext_noop(
            "The conversation is longer than the model can read. Start a new chat, or send a shorter message."
        ),
        # ToolTraceStep.error
        gettext_noop("The arguments did not fit the tool."),
        gettext_noop("Timed out."),
        gettext_noop("The tool failed."),
        # ToolTraceStep.args
        gettext_noop("[arguments that are no JSON]"),
        # Tool.running_label
        gettext_noop("Searching filings…"),
        gettext_noop("Reading a passage…"),
    }
)


def shown(text: str) -> str:
    """Return kept words in the reader's language; any other text, such as a model's name, as it is."""
    return gettext(text) if text in KEPT else text


def reading(results: int) -> str:
    """Return what a model does that was given what a tool found."""
    return ngettext("Reading %(count)s result…", "Reading %(count)s results…", results) % {"count": results}
