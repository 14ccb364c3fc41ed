"""Browser tests: a browser and a prepared database for each worker, servers as children, a context for each person.

``CHROMIUM`` names the browser; ``tests.browser.chromium`` sets it. Playwright's own loop and pytest's asynchronous
one can't share a process, so these tests run apart from the others.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.chromium import ARGUMENTS
from tests.browser.people import Person
from tests.browser.sites import Site, prepare
from tests.browser.upstream import contract_server

PATIENCE_MS = 30_000  # a loaded machine is slow, and a condition that holds costs nothing
MakeSite = Callable[..., Site]


@pytest.fixture(scope="session")
def browser():
    path = os.environ.get("CHROMIUM")
    if not path:
        pytest.skip("CHROMIUM names no browser; python -m tests.browser.chromium brings one")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("prepared"))


@pytest.fixture(scope="session")
def sites():
    """Return the servers that tests share, by the variables in their environment. All end with the run."""
    running: dict[frozenset[tuple[str, str]], Site] = {}
    yield running
    for site in running.values():
        site.stop()


@pytest.fixture(scope="session")
def serve(sites, prepared, tmp_path_factory):
    """Start a server with these variables in its environment; equal ones share it."""

    def start(**variables):
        key = frozenset(variables.items())
        if key not in sites:
            sites[key] = Site(tmp_path_factory.mktemp("site"), prepared, variables)
            sites[key].start()
        return sites[key]

    return start


@pytest.fixture(scope="session")
def offline(serve):
    """Return a site as a fresh checkout has it: the offline analyst answers."""
    return serve()


@pytest.fixture(scope="session")
def _upstream(tmp_path_factory):
    with contract_server(tmp_path_factory.mktemp("upstream")) as handle:
        yield handle


@pytest.fixture
def model(_upstream, sites):
    """Return the model service, with nothing scripted.

    Answers that a test left open are cut off and waited for: one that is asked for again would get the next test's
    reply.
    """
    _upstream.reset()
    yield _upstream
    _upstream.reset()
    for site in sites.values():
        site.wait_until_idle()


@pytest.fixture
def connected(serve, model):
    """Return a site that asks the model service."""
    return serve(OPENAI_BASE_URL=model.base_url)


@pytest.fixture
def visit(browser):
    """Bring a person to a site. At the end their browser must have had nothing to complain about."""
    people = []

    def bring(site, username="demo", **options):
        people.append(Person(browser, site, username, **options))
        return people[-1]

    yield bring
    with ExitStack() as stack:
        for person in people:
            stack.callback(person.context.close)
        assert [complaint for person in people for complaint in person.watch.unexpected()] == []


@pytest.fixture
def own_site(prepared, tmp_path):
    """Make a server of the test's own, to be killed or looked into."""
    made = []

    def start(**variables):
        made.append(Site(tmp_path, prepared, variables))
        made[-1].start()
        return made[-1]

    yield start
    for site in made:
        site.stop()
