"""What is stored, by subject."""

from chat.models.attachment import Attachment
from chat.models.conversation import Conversation
from chat.models.conversation_import import ConversationImport
from chat.models.filing import Filing, Passage
from chat.models.model_profile import LearnedLimit, ModelProfile
from chat.models.project import Project
from chat.models.prompt import Prompt
from chat.models.share import Share
from chat.models.site_settings import SiteSettings
from chat.models.turn import Checkpoint, Event, Feedback, QueuedMessage, StoredCard, Turn

__all__ = [
    "Attachment",
    "Checkpoint",
    "Conversation",
    "ConversationImport",
    "Event",
    "Feedback",
    "Filing",
    "LearnedLimit",
    "ModelProfile",
    "Passage",
    "Project",
    "Prompt",
    "QueuedMessage",
    "Share",
    "SiteSettings",
    "StoredCard",
    "Turn",
]
