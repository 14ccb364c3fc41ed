"""Translate the fixed English texts of the log, the tools and the providers when they are shown.

They are stored in English, so that they read the same for everyone, and tools and providers import no Django. The fixed
ones are listed here for the catalogues; a text with a host, a number or a service's own words is shown as stored.
"""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop, ngettext

STORED = frozenset(
    {
        # Turn.model, as the offline analyst calls itself
        gettext_noop("Offline analyst"),
        # Turn.error_message
        gettext_noop("Stopped: something went wrong on this server."),
        gettext_noop("Stopped: the answer took longer than this site allows (MAX_TURN_S)."),
        gettext_noop("The answer reached the length that this site allows (MAX_ANSWER_BYTES); it is cut off here."),
        gettext_noop("The thinking reached the length that this site allows (MAX_THINKING_BYTES); it is cut off here."),
        gettext_noop("The arguments of a tool call were longer than this site allows (MAX_ARGUMENTS_BYTES)."),
        gettext_noop("The model asked for more tool calls at once than this site allows (MAX_CALLS_PER_RESPONSE)."),
        gettext_noop("The model service ended the answer in the middle. Try again."),
        gettext_noop(
            "The model service did not accept the key, or the key may not use this model. Check OPENAI_API_KEY."
        ),
        gettext_noop("The account at the model service has no quota left. Top it up, or use another key."),
        gettext_noop("The model is rate-limited. Try again in a moment."),
        gettext_noop("The model is rate-limited. Try again tomorrow."),
        gettext_noop("The service is still loading the model. Try again in a moment."),
        gettext_noop(
            "The conversation is longer than the model can read. Start a new chat, or send a shorter message."
        ),
        gettext_noop("The model’s service refused reasoning.effort, so the answer was made without it."),
        gettext_noop(
            "The model’s service refused to switch reasoning off, so the answer was made without asking for that."
        ),
        gettext_noop("This model can’t see images. It was told the name of the attached image only."),
        # ToolTraceStep.error
        gettext_noop("The arguments did not fit the tool."),
        gettext_noop("The model asked for a tool that doesn't exist: %(name)s"),
        gettext_noop("Timed out."),
        gettext_noop("The tool failed."),
        gettext_noop("Not run: the limit of tool calls was reached."),
        gettext_noop("Denied by the user."),
        gettext_noop("Denied: nobody decided in time."),
        # ToolTraceStep.args
        gettext_noop("[arguments that are no JSON]"),
        # Tool.running_label
        gettext_noop("Searching filings…"),
        gettext_noop("Reading a passage…"),
    }
)


def translate_stored(text: str) -> str:
    """Return a stored text in the reader's language; a text that isn't ours, such as a model's name, unchanged."""
    if text in STORED:
        return gettext(text)
    words, colon, name = text.partition(": ")
    pattern = f"{words}{colon}%(name)s"
    return gettext(pattern) % {"name": name} if pattern in STORED else text


def reading_results(results: int) -> str:
    """Describe a model that reads the results of a tool."""
    return ngettext("Reading %(count)s result…", "Reading %(count)s results…", results) % {"count": results}
