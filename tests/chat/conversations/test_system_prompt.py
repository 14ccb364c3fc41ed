"""What a model is asked for follows the flags of the site: nothing is asked for, or paid for, that nobody may see."""

import pytest

from reasoning.prompt import instructions
from tests.chat.asking import ask

SITES = [  # REASONING_ENABLED, REASONING_SCRATCHPAD_ENABLED, SCRATCHPAD_ADMIN_ONLY, sections?, scratchpad?
    (True, False, True, True, False),
    (True, True, True, True, True),
    (True, True, False, True, False),
    (False, True, True, False, False),
    (False, False, True, False, False),
]


@pytest.fixture
def site(settings, enabled, pads, admin_only):
    settings.REASONING_ENABLED = enabled
    settings.REASONING_SCRATCHPAD_ENABLED = pads
    settings.SCRATCHPAD_ADMIN_ONLY = admin_only


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("product 9", "product 13")
@pytest.mark.parametrize(("enabled", "pads", "admin_only", "sections", "scratchpad"), SITES)
async def test_service_is_sent_that_prompt(upstream, conversation, site, sections, scratchpad):
    upstream.script([{"content": "Yes."}])

    await ask(conversation)

    first = upstream.requests()[0]["body"]["messages"][0]
    assert first["role"] == "system"
    assert ("Reasoning Summary:" in first["content"], "<scratchpad>" in first["content"]) == (sections, scratchpad)


def test_tools_are_explained_to_a_model_that_accepts_them():
    assert "Use the tools" in instructions(sections=True, scratchpad=False, tools=True)
    assert "Use the tools" not in instructions(sections=True, scratchpad=False, tools=False)


@pytest.mark.spec("004 summary")
def test_sections_come_with_what_a_summary_may_not_hold():
    prompt = instructions(sections=True, scratchpad=True, tools=True)

    for unsafe in ("instructions", "keys", "file paths", "personal identifiers"):
        assert unsafe in prompt.partition("Keep the Reasoning Summary safe")[2]
    assert "Put nothing from there into the Reasoning Summary or the Final Answer" in prompt


def test_scratchpad_is_asked_for_only_beside_sections():
    assert "scratchpad" not in instructions(sections=False, scratchpad=True, tools=True)
