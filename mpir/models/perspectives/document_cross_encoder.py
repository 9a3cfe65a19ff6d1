"""Perspectives of a model that reads a query and a whole document once: of each sentence, or of the document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mpir.models.document_encoder import DocumentEncoder
from mpir.models.perspectives.base import DocumentModel, Loading, Perspective, register
from mpir.models.perspectives.cross_encoder import CrossEncoderPerspective, shared_encoder
from mpir.types import F32, F64


class DocumentCrossEncoderPerspective(CrossEncoderPerspective):
    """One output of a document encoder, on a fixed scale: a sentence's, or with the level ``document`` a document's.

    Its pair of a query and a text is read as a document of one sentence.
    """

    encoder: DocumentEncoder

    @property
    def documents_model(self) -> DocumentModel:
        """The document encoder."""
        return self.encoder

    def read(self, outputs: F32) -> F64:
        """Return this perspective's scores (N,) from the outputs (N, 2 W) of N sentences and their documents."""
        halves = np.hsplit(outputs, 2)
        return super().read(halves[1 if self.level == "document" else 0])

    @property
    def identity(self) -> Mapping[str, Any]:
        """The encoder's identity, the output, the scale and the level."""
        return {**super().identity, "level": self.level}


@register("document-cross-encoder")
def load_document_cross_encoder(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    encoder, reading = shared_encoder(options, loading)
    key = ("documents", id(encoder))
    model = loading.shared.setdefault(key, DocumentEncoder(encoder))
    return DocumentCrossEncoderPerspective(name, model, **reading)
