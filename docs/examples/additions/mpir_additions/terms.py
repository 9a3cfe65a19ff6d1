"""A family of models, folders whose config.json weighs some terms, and the perspective that reads them."""

import json
from pathlib import Path

from mpir import Perspective
from mpir.additions import ModelFamily

FAMILY = ModelFamily(
    name="weighted terms",
    task="reranking",
    perspective_type="terms",
    matches=lambda files: files.config.get("model_type") == "weighted-terms",
    options=lambda files: {"scale": "logit"},
)


class Terms(Perspective):
    """The sum of the weights of a text's terms."""

    def __init__(self, checkpoint, scale="logit"):
        self.scale = scale
        self._weights = json.loads((Path(checkpoint) / "config.json").read_text(encoding="utf-8"))["weights"]

    def score_pairs(self, pairs, **_):
        """Return the score of each text, whatever the query."""
        return [sum(self._weights.get(word, 0.0) for word in text.lower().split()) for query, text in pairs]
