"""Read a reranker that prunes from files in OpenProvence's form, without running code of its own.

`config.json` holds the classifier's configuration as `base_model_config`. The names of its weights begin with
`ranking_model.`, or with nothing in older files; those of the layer over tokens are `pruning_head.classifier`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError, format_names, format_value
from mpir.models.checkpoint_files.checkpoint_checks import check_sizes, check_tensors
from mpir.models.loading.pretrained import checkpoint_errors, load_pretrained

EXPECTED = "a reranker that prunes"
HEAD, RANKING = "pruning_head.classifier.", "ranking_model."


class PrunerCheckpoint:
    """A folder with a pruner: its configuration and tokenizer, and the weights on request."""

    def __init__(self, folder: Path, values: Mapping[str, Any]) -> None:
        """Read configuration and tokenizer. Raises ArtefactError if that fails."""
        self.folder, base = folder, dict(values["base_model_config"])
        check_sizes(values, folder)
        with checkpoint_errors(folder, EXPECTED):
            self._base = _config(base, labels=1)
            self.config = _config(base, labels=2)  # the outputs of one reading: a document's, and a sentence's
        self.tokenizer = load_pretrained(_class("AutoTokenizer"), folder, EXPECTED, config=self._base)

    def load(self) -> tuple[Any, list[str]]:
        """The model in single precision, and no missing weights. Raises ArtefactError where it cannot be loaded."""
        from torch.nn import Linear

        from mpir.models.families.pruner._model import Pruner

        check_tensors(self.folder, self._base.to_dict())
        with checkpoint_errors(self.folder, EXPECTED):
            weights = self._weights()
            ranking = _class("AutoModelForSequenceClassification").from_config(self._base, trust_remote_code=False)
            model = Pruner(ranking.float().eval(), Linear(self._base.hidden_size, 2))
            missing, unknown = model.load_state_dict(weights, strict=False)
        if wrong := sorted([*missing, *(name for name in unknown if "position_ids" not in name)]):
            raise ArtefactError(
                f"{self.folder}: missing or unknown weights: {format_names(wrong, 3)} (expected a classifier's after "
                f"{format_value(RANKING)}, and {HEAD}weight and {HEAD}bias). Restore the checkpoint."
            )
        return model.eval(), []

    def _weights(self) -> dict[str, Any]:
        """All weights, named as in `Pruner`. Raises ArtefactError for a folder without safetensors."""
        from safetensors.torch import load_file

        paths = sorted(self.folder.glob("*.safetensors"))
        if not paths:
            raise ArtefactError(f"{self.folder}: has no *.safetensors with the weights of {EXPECTED}. Restore it.")
        weights = {name: value.float() for path in paths for name, value in load_file(path).items()}
        prefix = "" if any(name.startswith(RANKING) for name in weights) else RANKING
        return {
            name.replace(HEAD, "pruning_head.") if name.startswith(HEAD) else prefix + name: value
            for name, value in weights.items()
        }


def _config(base: Mapping[str, Any], *, labels: int) -> Any:
    """The classifier's configuration with a number of outputs."""
    values = {key: value for key, value in base.items() if key not in ("id2label", "label2id", "num_labels")}
    return _class("AutoConfig").for_model(values.pop("model_type"), **values, num_labels=labels)


def _class(name: str) -> Any:
    import transformers

    return getattr(transformers, name)
