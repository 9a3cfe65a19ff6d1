"""A bundle's cross-encoder as the teacher of documents: its raw outputs of each sentence, when a step needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from mpir.errors import InputError, format_names, format_value
from mpir.lab.train.document_rows import TrainingDocument, TrainingQuestion
from mpir.models.bundles.bundle import open_bundle
from mpir.models.perspectives.cross_encoder import CrossEncoderPerspective
from mpir.types import F32


class DocumentTeacher:
    """Perspectives of a bundle that share one cross-encoder."""

    def __init__(self, bundle: str, names: Sequence[str], *, device: str, precision: str) -> None:
        """Open the bundle.

        Raises:
            ArtefactError: the bundle cannot be loaded.
            InputError: a name is none of its cross-encoder's perspectives.
        """
        perspectives = open_bundle(bundle).perspectives(device=device, precision=precision)
        readers = {item.name: item for item in perspectives if type(item) is CrossEncoderPerspective}
        for name in names:
            if name not in readers or readers[name].encoder is not readers[names[0]].encoder:
                raise InputError(
                    f"teacher {format_value(bundle)}: no cross-encoder's perspective {format_value(name)} beside "
                    f"{format_value(names[0])} (got {format_names(list(readers))}); name another bundle."
                )
        self._encoder, self._outputs = readers[names[0]].encoder, [readers[name].output for name in names]

    def teach(self, question: TrainingQuestion) -> TrainingQuestion:
        """Return the question with the outputs of all sentences of documents that have no teacher's outputs."""
        untaught = [document for document in question.documents if document.teacher is None]
        pairs = [(question.question, sentence) for document in untaught for sentence in document.sentences]
        if not pairs:
            return question
        outputs = self._encoder.outputs(pairs)[0][:, self._outputs]
        ends = np.cumsum([len(document.sentences) for document in untaught])[:-1]
        taught = iter(np.split(outputs, ends))
        return replace(question, documents=tuple(_with_teacher(item, taught) for item in question.documents))


def _with_teacher(document: TrainingDocument, taught: Iterator[F32]) -> TrainingDocument:
    return document if document.teacher is not None else replace(document, teacher=next(taught))
