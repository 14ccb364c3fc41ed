"""What is stored, by subject."""

from chat.models.conversation import Conversation
from chat.models.filing import Filing, Passage
from chat.models.model_profile import LearnedLimit, ModelProfile
from chat.models.share import Share
from chat.models.turn import Checkpoint, Event, Feedback, QueuedMessage, StoredCard, Turn

__all__ = [
    "Checkpoint",
    "Conversation",
    "Event",
    "Feedback",
    "Filing",
    "LearnedLimit",
    "ModelProfile",
    "Passage",
    "QueuedMessage",
    "Share",
    "StoredCard",
    "Turn",
]
