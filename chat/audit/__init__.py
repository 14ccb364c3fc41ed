"""Look for private text at rest: in every table of the database, and in files that are named.

What is found is told by place and kind alone, never by its text. Whatever the size of the tables, they are read in
small pieces. Sealed halves are opened in memory, by ``chat.log``, to be compared with what lies open beside them.
Product 3, 12; spec 004 scratchpad.
"""

from collections.abc import Iterator, Sequence

from chat.audit.files import look_through_file
from chat.audit.findings import Finding, Kind
from chat.audit.tables import look_through_tables
from chat.audit.turns import look_through_turns

__all__ = ["Finding", "Kind", "look_through_database", "look_through_file"]


def look_through_database(canaries: Sequence[str] = ()) -> Iterator[Finding]:
    """Yield what should not lie in the database; ``canaries`` are texts that should stand in no table."""
    yield from look_through_tables(canaries)
    yield from look_through_turns()
