"""What is stored, by subject."""

from chat.models.conversation import Conversation, Event, Turn
from chat.models.filings import Filing, Passage
from chat.models.runtime import Checkpoint, QueuedMessage

__all__ = ["Checkpoint", "Conversation", "Event", "Filing", "Passage", "QueuedMessage", "Turn"]
