"""A ColBERT, in any of three forms of files, scores as sentence-transformers' MultiVectorEncoder does."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from mpir import Reranker
from mpir.errors import ArtefactError, InputError
from mpir.models.perspectives.named_models import NamedModels, declare_named_models, load_named_models
from mpir.models.perspectives.registration import Loading
from tests.conftest import WORDS

library = pytest.importorskip("sentence_transformers")
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
SIZES |= {"initializer_range": 0.3, "pad_token_id": 0, "max_position_embeddings": 64}
MODERN = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
MODERN |= {"local_attention": 32}  # a mask that is far from all words would see nothing, which has no defined value
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]", ",", "!"]
QUERIES = ["does aspirin thin blood", "", "risk of heart attack in patients !"]
TEXTS = ["yes aspirin does thin the blood .", "the heart", "a trial of aspirin , in patients . " * 3, "gene !"]
PAIRS = [(query, text) for query in QUERIES for text in TEXTS] * 3
OVER_LONG = [(QUERIES[0], "risk of heart attack . " * 40), ("gene cell " * 30, TEXTS[0])]
STANFORD = {"query_maxlen": 16, "doc_maxlen": 40, "query_token_id": "[unused0]", "doc_token_id": "[unused1]"}
PYLATE = {"query_prefix": "[unused0]", "document_prefix": "[unused1]", "query_length": 16, "document_length": 40}


@pytest.fixture(scope="module", params=["Bert", "ModernBert"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random encoder with a tokenizer that has masks, markers and punctuation."""
    folder = tmp_path_factory.mktemp(request.param)
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *WORDS.split()])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)
    fast.save_pretrained(folder)
    extra = MODERN if request.param == "ModernBert" else {}
    torch.manual_seed(0)
    config = getattr(transformers, f"{request.param}Config")(**SIZES, **extra, vocab_size=len(vocabulary))
    getattr(transformers, f"{request.param}Model")(config).save_pretrained(folder)
    return folder


def stanford(base: Path, folder: Path) -> Path:
    """Stanford's form: the projection among the weights, the settings in artifact.metadata."""
    shutil.copytree(base, folder)
    config = json.loads((base / "config.json").read_text())
    prefix = "model" if config["model_type"] == "modernbert" else "bert"
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["HF_ColBERT"]}))
    weights = {f"{prefix}.{name}": value for name, value in load_file(base / "model.safetensors").items()}
    save_file({**weights, "linear.weight": torch.randn(8, 32)}, folder / "model.safetensors", {"format": "pt"})
    (folder / "artifact.metadata").write_text(json.dumps(STANFORD))
    return folder


def pylate(base: Path, folder: Path) -> Path:
    """PyLate's form: a chain of two modules."""
    shutil.copytree(base, folder)
    modules = [("", "sentence_transformers.models.Transformer"), ("1_Dense", "pylate.models.Dense.Dense")]
    entries = [{"idx": i, "name": str(i), "path": path, "type": name} for i, (path, name) in enumerate(modules)]
    (folder / "modules.json").write_text(json.dumps(entries))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({**PYLATE, "model_type": "ColBERT"}))
    (folder / "1_Dense").mkdir()
    dense = {"in_features": 32, "out_features": 8, "bias": False, "activation_function": "torch.nn.Identity"}
    (folder / "1_Dense/config.json").write_text(json.dumps(dense))
    save_file({"linear.weight": torch.randn(8, 32)}, folder / "1_Dense/model.safetensors")
    return folder


def native(base: Path, folder: Path) -> Path:
    """The form of sentence-transformers, with prompts of text and without masks."""
    library.MultiVectorEncoder(
        str(base), device="cpu", prompts={"query": "heart ", "document": "gene "}
    ).save_pretrained(str(folder))
    return folder


def score(folder: Path, pairs: list[tuple[str, str]], **options: Any) -> Any:
    choice = NamedModels(names=(str(folder),), options=options)
    loading = Loading(folder=Path(), device="cpu", precision="fp32")
    (perspective,) = load_named_models(declare_named_models(choice), loading)
    return perspective.score_pairs(pairs)[0]


@pytest.mark.parametrize("form", [stanford, pylate, native])
def test_scores_are_those_of_sentence_transformers(form: Callable[..., Path], base: Path, tmp_path: Path) -> None:
    folder = form(base, tmp_path / "colbert")
    model = library.MultiVectorEncoder(str(folder), device="cpu")
    pairs = [*PAIRS, *OVER_LONG]
    for batch in (1, 32):
        queries = model.encode_query([query for query, _ in pairs], batch_size=batch)
        documents = model.encode_document([text for _, text in pairs], batch_size=batch)
        expected = model.similarity_pairwise(queries, documents).numpy()
        np.testing.assert_allclose(score(folder, pairs, over_length="truncate"), expected, atol=1e-5, rtol=1e-5)
    in_passages = score(folder, pairs)
    np.testing.assert_allclose(in_passages[: len(PAIRS)], expected[: len(PAIRS)], atol=1e-5, rtol=1e-5)


def test_it_ranks_beside_a_bundle(base: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    folder = pylate(base, tmp_path / "colbert")
    models = NamedModels(names=(folder,), level="both")
    reranker = Reranker(tiny_bundle, models=models, device="cpu", precision="fp32")
    ranking = reranker.rerank(QUERIES[0], TEXTS)
    first = next(document for document in ranking if document.index == 0)
    assert first.scores["colbert"] == pytest.approx(score(folder, [(QUERIES[0], TEXTS[0])])[0], abs=1e-5)
    mean = first.scores["colbert"] / PYLATE["query_length"]
    assert first.sentences[0].scores["colbert-sentences"] == pytest.approx(max(0, mean), abs=1e-5)
    reranker.save_pretrained(tmp_path / "mine")
    saved = Reranker(tmp_path / "mine", device="cpu", precision="fp32").rerank(QUERIES[0], TEXTS)
    assert [document.scores for document in saved] == [document.scores for document in ranking]


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("config_sentence_transformers.json", {"attend_to_expansion_tokens": True}, r"colbert: .*'length': 16"),
        ("config_sentence_transformers.json", {"skiplist_words": ["the"]}, "colbert: leaves out"),
        ("1_Dense/config.json", {"module_input_name": "sentence_embedding"}, "/1_Dense: .*of tokens"),
        ("1_Dense/config.json", {"out_features": 9}, r"1_Dense/model\.safetensors: .*not fit"),
    ],
)
def test_what_is_not_computed_is_refused(
    file: str, changes: dict[str, Any], message: str, base: Path, tmp_path: Path
) -> None:
    folder = pylate(base, tmp_path / "colbert")
    (folder / file).write_text(json.dumps({**json.loads((folder / file).read_text()), **changes}))
    with pytest.raises(ArtefactError, match=message):
        score(folder, PAIRS[:1])


def test_an_unknown_option_or_damaged_metadata_is_one_sentence(base: Path, tmp_path: Path) -> None:
    folder = stanford(base, tmp_path / "colbert")
    with pytest.raises(InputError, match="'depth' is no"):
        score(folder, PAIRS[:1], depth=3)
    (folder / "artifact.metadata").write_text("[1]")
    with pytest.raises(ArtefactError, match=r"artifact\.metadata: .*JSON object"):
        score(folder, PAIRS[:1])
