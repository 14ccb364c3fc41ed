"""What is stored, by subject."""

from chat.models.catalog import ModelProfile
from chat.models.conversation import Conversation, Event, Turn
from chat.models.filings import Filing, Passage
from chat.models.runtime import Checkpoint, QueuedMessage
from chat.models.sharing import Feedback, Share

__all__ = [
    "Checkpoint",
    "Conversation",
    "Event",
    "Feedback",
    "Filing",
    "ModelProfile",
    "Passage",
    "QueuedMessage",
    "Share",
    "Turn",
]
