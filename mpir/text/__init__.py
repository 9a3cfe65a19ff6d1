"""Questions, documents, and their sentences with exact offsets."""

from mpir.text.types import ABSTRACT, TITLE, Document, Question, Sentence, Snippet

__all__ = ["ABSTRACT", "TITLE", "Document", "Question", "Sentence", "Snippet"]
