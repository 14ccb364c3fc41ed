"""Plant hostile text wherever a site stores some: ``python -m tests.browser.hostile`` prints the addresses as JSON."""

import json
import os
import subprocess
import sys
from typing import Any

from tests.browser.sites import Site
from tests.server import ROOT

RUN = "window.planted=1;alert(1)"
OWNERS = ("demo", "admin")
FOREIGN = "https://evil.example"
SHORT = f"<img src=x onerror={RUN}><script>{RUN}</script>'\"`"
NAME = "<svg/onload=alert(1)>"
TEXTS = (
    SHORT,
    f"<svg><animate onbegin={RUN} attributeName=x></svg><math><a xlink:href=javascript:{RUN}>x</a></math>",
    f"[x](javascript:{RUN}) [y](data:text/html,<script>{RUN}</script>) [z](vbscript:{RUN}) <javascript:{RUN}>",
    f"![i]({FOREIGN}/i.png) <img src={FOREIGN}/j.png> <style>body{{background:url({FOREIGN}/k)}}</style>",
    f"<iframe srcdoc='<script>{RUN}</script>'></iframe><object data={FOREIGN}/o></object><base href={FOREIGN}/>",
    "<form id=chat name=body action=/accounts/logout/><input name=text><input name=attributes></form>",
    "<a id=forms name=documentElement href=x>x</a><img name=getElementById><p id=messages>x</p>",
    '<div id="m-CARD" hx-swap-oob="outerHTML:#messages">gone</div><div id=title hx-swap-oob=true>gone</div>',
    f"<p hx-get=/accounts/logout/ hx-trigger=load hx-on:load='{RUN}' hx-on--load='{RUN}' data-hx-get=/x ws-send>x</p>",
    "<div data-ai-reasoning data-collapsed=false data-token-est=9><button data-ai-reasoning-toggle "
    "aria-expanded=false aria-controls=title>x</button></div><div data-scratchpad>forged</div>",
    f"<!--[if IE]><script>{RUN}</script><![endif]--><!-- --><script>{RUN}</script> -->",
    "{{ 7|add:7 }} {% load x %} {% include 'x' %} ${alert(1)} {{constructor.constructor('alert(1)')()}}",
    "\u202egnp.exe\u2066 \u200b\u2028 \ufeff x\u0001y \x1b[31m",
    f"<div style='position:fixed;inset:0' onmouseover={RUN} class=card data-message-id=1>x</div>",
    f"</textarea></title></script></style></template><script>{RUN}</script>",
    f'[1] "quoted <b onclick={RUN}>words" | a | <script>{RUN}</script> |',
)
ALL = "\n\n".join(TEXTS)


def plant(site: Site) -> dict[str, str]:
    """Return the addresses of what was planted, by name."""
    command = [sys.executable, "-m", "tests.browser.hostile"]
    done = subprocess.run(  # noqa: S603 - our own command
        command, cwd=ROOT, env=dict(site.environment), capture_output=True, check=True, text=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main() -> None:
    import django  # noqa: PLC0415 - only this process needs it

    django.setup()
    from accounts.models import User  # noqa: PLC0415
    from chat import eventlog  # noqa: PLC0415
    from chat.filings.ingest import ingest  # noqa: PLC0415
    from chat.filings.models import Filing  # noqa: PLC0415
    from chat.models import Conversation, ModelProfile, Turn  # noqa: PLC0415
    from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult  # noqa: PLC0415
    from tests.factories import end_turn, open_turn  # noqa: PLC0415

    User.objects.filter(username__in=OWNERS).update(first_name=SHORT[:150], last_name=SHORT[:150])
    User.objects.create(username=NAME, first_name=SHORT[:150], is_active=False)

    escaped = [text.replace("&", "&amp;").replace("<", "&lt;") for text in TEXTS]
    rows = "".join(f"<tr><td>{text}</td><td>{number}</td></tr>" for number, text in enumerate(escaped))
    body = "".join(f"<p>{text}</p>" for text in escaped)
    document = (
        f"<html><head><title>{escaped[0]}</title></head><body><p>FORM 10-K</p><p>{escaped[0]}</p>"
        "<p>(Exact name of registrant as specified in its charter)</p>"
        f"<p>Item 1. Business {escaped[0]}</p><p><b>{escaped[1]}</b></p>{body}"
        f"<p>Item 1A. {escaped[2]}</p>{body}{ALL}<table>{rows}</table></body></html>"
    )
    filing = ingest(document.encode("utf-8", "replace"), name=SHORT)
    Filing.objects.filter(pk=filing.pk).update(accession=NAME, form=NAME)
    filing.passages.update(section=SHORT[:80], section_title=SHORT, heading=SHORT)
    passage = filing.passages.first()
    assert passage is not None
    url = f"{filing.get_absolute_url()}{passage.anchor}"

    ModelProfile.objects.create(name="planted", label=SHORT[:80], base_url="http://127.0.0.1:9/v1", model=SHORT)
    found = {"passage": url}
    citation = {"ref": 1, "filing": NAME, "company": SHORT, "date": None, "period": None, "section": SHORT}
    citation |= {"anchor": passage.anchor, "url": url, "snippet": ALL, "quote": SHORT, "verified": False}
    step = {"tool": SHORT, "args": {SHORT: ALL, "query": ALL}, "durationMs": 1, "results": 1}
    step |= {"topCitations": [citation], "status": "error", "error": SHORT}
    thought: dict[str, Any] = {"source_field": "reasoning", "model": SHORT, "provider": SHORT}
    for owner in User.objects.filter(username__in=OWNERS):
        conversation = Conversation.objects.create(owner=owner, title=SHORT)
        for answer in (ALL, "\n".join(TEXTS), "```html\n" + ALL + "\n```"):
            turn = open_turn(conversation.pk, text=ALL)
            Turn.objects.filter(pk=turn.pk).update(model=SHORT, provider=SHORT[:100])
            turn.refresh_from_db()
            events = [
                Reasoning(kind="text", text=ALL, step=0, **thought),
                ToolCall(call_id="c1", name=SHORT, arguments=json.dumps({"query": ALL}), step=0),
                ToolResult(call_id="c1", output=ALL, ok=False, step=0),
            ]
            eventlog.append(turn, events, {"c1": step})
            end_turn(turn, [AssistantMessage(text=answer, summary=TEXTS[:5], citations=(citation,), step=1)])
        failed = open_turn(conversation.pk, text=SHORT)
        end_turn(failed, [AssistantMessage(text=SHORT, partial=True)], status="errored")
        Turn.objects.filter(pk=failed.pk).update(
            error_code="server_error", error_message=ALL[:500], error_detail=ALL[:500]
        )
        found[owner.username] = f"/chats/{conversation.pk}/"
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    main()
