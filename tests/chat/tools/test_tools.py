"""What models see of the filing tools: schemas, arguments checked, passages numbered."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from chat.tools import registry
from chat.tools.base import DocumentEntry, SearchQuery, SearchResult, ToolArgumentsError, ToolContext, ToolOutput
from chat.tools.passages import MAX_CONTENT_CHARS, fit_passages, number_passages
from reasoning.citations import Source, SourceKind


def passage(text: str = "The ratio was 1.31.") -> Source:
    return Source(
        0, "filing", "10-K", "Northwind", "2026-02-26", None, "Item 7", "#item-7-p1", "/filings/n/#item-7-p1", text, "…"
    )


class Corpus:
    """A search that remembers what it was asked."""

    def __init__(self, *passages: Source) -> None:
        self.found = SearchResult(tuple(passages), documents=3, publishers=("Northwind",))
        self.asked: list[Any] = []

    async def search(self, query: SearchQuery) -> SearchResult:
        self.asked.append(query)
        return self.found

    async def open_page(self, url: str) -> SearchResult:
        self.asked.append(url)
        return self.found

    async def read(self, url: str, neighbours: int) -> SearchResult:
        self.asked.append((url, neighbours))
        return self.found

    async def entries(self, kinds: tuple[SourceKind, ...]) -> Sequence[DocumentEntry]:
        return [DocumentEntry("document", "Handbook", "Rules", "/documents/1/")]


async def run(name: str, arguments: str, corpus: Corpus, *, first_ref: int = 1) -> ToolOutput:
    output = await registry()[name].call(
        arguments, ToolContext(corpus.search, corpus.read, corpus.entries, corpus.open_page)
    )
    return output if output.searched is None else number_passages(fit_passages(output), first_ref=first_ref)


@pytest.mark.parametrize("name", sorted(registry()))
def test_schema_is_a_closed_function_tool(name):
    schema = registry()[name].schema

    assert schema["type"] == "function"
    assert schema["function"]["name"] == name
    assert schema["function"]["description"]
    assert schema["function"]["parameters"]["additionalProperties"] is False
    assert all("description" in prop for prop in schema["function"]["parameters"]["properties"].values())


async def test_arguments_become_a_query():
    corpus = Corpus()
    await run("searchFilings", '{"query": " covenants ", "form": "10-K", "company": "", "limit": 8}', corpus)

    assert corpus.asked == [SearchQuery("covenants", "10-K", None, 8)]


async def test_content_numbers_passages_from_first_ref():
    output = await run("searchFilings", '{"query": "ratio"}', Corpus(passage(), passage("Ünlike")), first_ref=4)
    content = json.loads(output.content)

    assert [one["ref"] for one in content["passages"]] == [4, 5]
    assert set(content["passages"][0]) == {"ref", "company", "filing", "date", "period", "section", "url", "text"}
    assert content["searched"] == {"query": "ratio", "filings": 3, "companies": ["Northwind"]}
    assert "Ünlike" in output.content


async def test_content_stays_whole_json_under_the_cap():
    output = await run("searchFilings", '{"query": "x", "limit": 20}', Corpus(*[passage("word " * 400)] * 20))

    assert len(output.content) <= MAX_CONTENT_CHARS
    assert len(json.loads(output.content)["passages"]) == output.results == len(output.sources)


def fitted(*texts: str, content: str = "") -> tuple[ToolOutput, dict[str, Any]]:
    """Return what fits of passages and a text, numbered, and what a model reads of it."""
    output = fit_passages(ToolOutput(content, sources=tuple(passage(text) for text in texts), searched={}))
    numbered = number_passages(output, first_ref=1000)
    assert len(numbered.content) <= MAX_CONTENT_CHARS
    return output, json.loads(numbered.content)


@pytest.mark.parametrize("length", [1, 100, 999, 5_000])
def test_as_many_passages_are_returned_as_fit(length):
    output, read = fitted(*["x" * length] * 2_000)
    more = ToolOutput(sources=(*output.sources, passage("x" * length)), searched={})

    assert len(read["passages"]) == output.results
    assert len(number_passages(more, first_ref=1000).content) >= MAX_CONTENT_CHARS


@pytest.mark.parametrize("character", ["x", '"', "\x01", "ü"])
def test_long_text_and_long_passage_leave_room_for_each_other(character):
    output, read = fitted(character * 25_000, "Short.", content=character * 25_000)

    assert len(read["text"]) > 1_000
    assert read["text"].endswith("\n(truncated)")
    assert len(read["passages"][0]["text"]) > 1_000
    assert output.results == 1


def test_text_is_whole_where_all_fits():
    _output, read = fitted("Short.", content="x" * 15_000)

    assert read["text"] == "x" * 15_000


async def test_passage_is_read_with_its_neighbours():
    corpus = Corpus(passage())
    output = await run("readPassage", '{"url": "/filings/n/#item-7-p1"}', corpus, first_ref=9)

    assert corpus.asked == [("/filings/n/#item-7-p1", 1)]
    assert output.sources[0].ref == 9


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ("", "query"),
        ('{"query": "x", "limit": 21}', "limit"),
        ('{"query": "x", "surprise": 1}', "surprise"),
        ('{"query": "x"', "JSON"),
        ("[1]", "object"),
    ],
)
async def test_unfit_arguments_are_named_in_a_few_words(arguments, names):
    with pytest.raises(ToolArgumentsError, match=names) as error:
        await run("searchFilings", arguments, Corpus())

    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "url", ["/etc/passwd", "file:///etc/passwd", "https://evil.example/", "/filings/none/#item-1-p1"]
)
async def test_address_without_a_passage_is_an_error(url):
    with pytest.raises(ToolArgumentsError, match="no passage has this address"):
        await run("readPassage", json.dumps({"url": url}), Corpus())


async def test_calculation_is_answered_with_its_expression():
    output = await run("calculate", '{"expression": "$1.2 million * 4%"}', Corpus())

    assert output.content == "$1.2 million * 4% = $48,000"


async def test_what_cannot_be_calculated_is_said():
    with pytest.raises(ToolArgumentsError, match="expression: a division by zero"):
        await run("calculate", '{"expression": "1 / 0"}', Corpus())


async def test_documents_are_searched_apart_from_filings():
    corpus = Corpus(
        Source(0, "document", "Handbook", "", None, None, "Leave", "#p1", "/documents/1/#p1", "Ask.", "", 3)
    )
    output = await run("searchDocuments", '{"query": "leave", "limit": 4}', corpus)

    [asked] = corpus.asked
    assert (asked.limit, set(asked.kinds)) == (4, {"attachment", "document"})
    [found] = json.loads(output.content)["passages"]
    assert (found["kind"], found["title"], found["section"]) == ("document", "Handbook", "Leave")


async def test_documents_are_listed():
    output = await run("listDocuments", "", Corpus())

    [listed] = json.loads(output.content)["documents"]
    assert listed == {"title": "Handbook", "collection": "Rules", "url": "/documents/1/"}
