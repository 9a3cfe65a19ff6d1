"""Questions, documents, and their sentences with exact offsets."""

from mpir.core.text.types import ABSTRACT, TITLE, Document, Question, Sentence, Snippet

__all__ = ["ABSTRACT", "TITLE", "Document", "Question", "Sentence", "Snippet"]
