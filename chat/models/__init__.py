"""What is stored, by subject."""

from chat.models.conversation import Attachment, Conversation, ConversationImport, Project, Share
from chat.models.document import Collection, Document, DocumentPassage, PagePicture
from chat.models.evaluation import Evaluation
from chat.models.mcp import McpServer, McpTool
from chat.models.model_profile import LearnedFacts, ModelProfile
from chat.models.prompt import Prompt
from chat.models.site_settings import SiteSettings
from chat.models.turn import Checkpoint, Event, Feedback, QueuedMessage, StoredCard, Turn

__all__ = [
    "Attachment",
    "Checkpoint",
    "Collection",
    "Conversation",
    "ConversationImport",
    "Document",
    "DocumentPassage",
    "Evaluation",
    "Event",
    "Feedback",
    "LearnedFacts",
    "McpServer",
    "McpTool",
    "ModelProfile",
    "PagePicture",
    "Project",
    "Prompt",
    "QueuedMessage",
    "Share",
    "SiteSettings",
    "StoredCard",
    "Turn",
]
