"""Two models side by side: choose the second, watch both, reload, keep one; on a wide window and on a phone."""

import pytest
from playwright.sync_api import expect

from tests.browser.looks import small_targets, violations
from tests.browser.people import NARROW
from tests.browser.shifts import COUNT_SHIFTS, hardly_shifted
from tests.browser.upstream import contract_server, opening, reply, says, waits

CODE = f"```python\n{'leverage = debt / earnings ' * 20}\n```"  # wider than a phone
TEXT = f"Two things matter.\n\n- the covenant\n- the rate\n\n{CODE}\n\nBoth are stated in the filing, on one page."


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    with contract_server(tmp_path_factory.mktemp("other")) as handle:
        yield handle


@pytest.fixture
def staffed(serve, visit, model, other):
    """Return a site where staff offer a second model, at a service of its own; both are held in their midst."""
    site = serve(OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="plain-model", SITE="compared")
    admin = visit(site, "admin")
    admin.open("/admin/chat/modelprofile/")
    if not admin.page.get_by_role("link", name="house", exact=True).count():  # tests share the site
        admin.open("/admin/chat/modelprofile/add/")
        fill = {"Name:": "house", "Label:": "House model", "Address:": other.base_url, "Model:": "plain-model"}
        for name, text in fill.items():
            admin.page.get_by_label(name, exact=True).fill(text)
        admin.submits(admin.page.get_by_role("button", name="Save", exact=True))
        expect(admin.page.get_by_text("was added successfully")).to_be_visible()
    other.reset()
    for service, name in ((model, "first"), (other, "second")):
        service.script([reply(says(opening(), f"The {name}. "), waits("go"), says(TEXT))])
    return site


@pytest.mark.slow
@pytest.mark.parametrize("size", [None, NARROW])
@pytest.mark.spec("product 47")
def test_two_answers_stream_side_by_side_and_one_is_kept(visit, staffed, model, other, size):
    demo = visit(staffed, **({"viewport": size} if size else {}))
    demo.starts_chat()
    demo.page.get_by_role("combobox", name="Compare with").select_option("House model")
    demo.writes("What matters?")
    demo.send_button.click()
    first, second = demo.answer(0), demo.answer(1)
    demo.page.evaluate(COUNT_SHIFTS)
    expect(first.answer).to_contain_text("The first.")
    expect(second.answer).to_contain_text("The second.")
    expect(demo.page.get_by_role("combobox", name="Compare with")).to_have_value("")
    group = demo.page.get_by_role("group", name="Two models answer.")
    expect(group.get_by_role("article")).to_have_count(2)
    boxes = [card.root.bounding_box() for card in (first, second)]
    assert (boxes[0]["x"] < boxes[1]["x"]) == (size is None)
    assert demo.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    hardly_shifted(demo)

    processor = demo.context.new_cdp_session(demo.page)
    processor.send("Emulation.setCPUThrottlingRate", {"rate": 20})  # a slow device is given the page in parts
    demo.page.reload()
    demo.page.evaluate(COUNT_SHIFTS)
    expect(second.answer).to_contain_text("The second.")
    processor.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    other.release("go")
    second.ends()
    expect(demo.stop_button).to_be_visible()
    model.release("go")
    first.ends()
    expect(demo.stop_button).to_be_hidden()
    for card in (first, second):
        expect(card.answer).to_contain_text("on one page.")
        expect(card.bullets).to_have_count(2)
    hardly_shifted(demo)
    assert demo.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert (small_targets if size else violations)(demo.page) == []

    demo.page.get_by_role("button", name="Keep this answer: House model").click()
    expect(group).to_have_count(0)
    expect(demo.answer().answer).to_contain_text("The second.")
    expect(demo.page.get_by_role("button", name="Previous answer")).to_be_focused()
    demo.page.get_by_role("button", name="Previous answer").click()
    expect(demo.answer().answer).to_contain_text("The first.")
