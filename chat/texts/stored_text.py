"""Translate the fixed English texts of the log, the tools and the offline analyst when they are shown.

They are stored in English, so that they read the same for everyone, and tools and providers import no Django. The fixed
ones are listed here for the catalogues; a text that is not listed is shown as stored.
"""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop, ngettext

STORED = frozenset(
    {
        # Turn.model, as the offline analyst calls itself
        gettext_noop("Offline analyst"),
        # ToolTraceStep.error
        gettext_noop("The arguments did not fit the tool."),
        gettext_noop("The model asked for a tool that doesn't exist: %(name)s"),
        gettext_noop("Timed out."),
        gettext_noop("The tool failed."),
        gettext_noop("The tool’s result was not what it declares."),
        gettext_noop("Not run: the limit of tool calls was reached."),
        gettext_noop("Denied by the user."),
        gettext_noop("Denied: nobody decided in time."),
        gettext_noop("Denied: too many calls had to wait."),
        gettext_noop("The server has changed this tool. It is off until staff have looked at it."),
        gettext_noop("The MCP server could not be used."),
        gettext_noop("The MCP server reported an error."),
        # ToolTraceStep.error of readWebPage
        gettext_noop("Pages of this host are not allowed: %(name)s"),
        gettext_noop("This host has no public address: %(name)s"),
        gettext_noop("This host can’t be reached: %(name)s"),
        gettext_noop("This host took too long to answer: %(name)s"),
        gettext_noop("The page is too large: %(name)s"),
        gettext_noop("The host’s robots.txt does not allow this page: %(name)s"),
        gettext_noop("The host’s robots.txt can’t be read: %(name)s"),
        gettext_noop("This host redirects too often: %(name)s"),
        gettext_noop("This host redirects to an unusable address: %(name)s"),
        gettext_noop("The page is neither HTML nor text nor PDF: %(name)s"),
        gettext_noop("This host gave no page: %(name)s"),
        gettext_noop("The page has no readable text: %(name)s"),
        gettext_noop("Other files are being read, try again: %(name)s"),
        # ToolTraceStep.args
        gettext_noop("[arguments that are no JSON]"),
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
