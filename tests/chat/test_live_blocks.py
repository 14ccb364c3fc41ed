"""Where finished blocks of a running answer are rendered."""

from __future__ import annotations

import asyncio
import threading

from chat.live.blocks import SHORT_CHARS
from tests.live_turns import make_live_turn


async def test_long_blocks_of_a_running_answer_are_not_rendered_in_the_loop(
    rendered_in: set[threading.Thread],
) -> None:
    live = make_live_turn()
    pump = asyncio.create_task(live.pump())

    live.show_answer(f"*One* {'word ' * SHORT_CHARS}\n\ntwo\n\nthree\n\nfour\n\n")
    async with asyncio.timeout(30):
        await live.settle()
    pump.cancel()

    assert "<em>One</em> word" in "".join(live.frozen)
    assert rendered_in
    assert all(thread.name.startswith("render") for thread in rendered_in)
