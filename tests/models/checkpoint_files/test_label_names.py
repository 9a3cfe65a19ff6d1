"""Which of two labels is relevant: by their names, in several languages; else the second one."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mpir import NamedModels
from mpir.errors import ArtefactError, InputError
from mpir.models.checkpoint_files.label_names import label_names, relevant_label, says_irrelevant
from mpir.models.perspectives.named_models import declare_named_models, load_named_models
from mpir.models.perspectives.registration import Loading
from tests.models.model_makers import TEMPLATE, make, put, read_object, tokenizer

QUERY, TEXTS = "does aspirin thin blood", ["yes aspirin does thin the blood", "the risk of a heart attack", ""]
PAIRS = [
    *(
        ("not_relevant", "relevant"),
        ("irrelevant", "relevant"),
        ("NotRelevant", "Relevant"),
        ("non-relevant", "relevant"),
    ),
    *(("no", "yes"), ("false", "true"), ("NEGATIVE", "POSITIVE"), ("neg", "pos"), ("0", "1"), ("LABEL_0", "LABEL_1")),
    *(("not_entailment", "entailment"), ("contradiction", "entailment"), ("not_duplicate", "duplicate")),
    *(("no match", "match"), ("unanswerable", "answerable"), ("unrelated", "related"), ("off-topic", "on topic")),
    *(("nicht relevant", "relevant"), ("nein", "ja"), ("falsch", "wahr"), ("unzutreffend", "zutreffend")),
    *(("non pertinent", "pertinent"), ("non", "oui"), ("no_relevante", "relevante"), ("não relevante", "relevante")),
    *(("irrilevante", "rilevante"), ("niet relevant", "relevant"), ("нерелевантно", "релевантно"), ("нет", "да")),
    *(
        ("不相关", "相关"),
        ("无关", "相关"),
        ("否", "是"),
        ("無関係", "関連"),
        ("関連なし", "関連"),
        ("관련 없음", "관련 있음"),
    ),
    *(("hayır", "evet"), ("ilgisiz", "ilgili"), ("غير ذي صلة", "نعم"), ("tidak relevan", "relevan"), ("1", "5")),
    *(
        ("class 0", "class 1"),
        ("not a paraphrase", "paraphrase"),
        ("off_topic", "on_topic"),
        ("other", "trial"),
        ("hard negative", "positive"),
    ),
]


@pytest.mark.parametrize(("irrelevant", "relevant"), PAIRS)
def test_the_names_of_two_labels_say_which_is_relevant(irrelevant: str, relevant: str) -> None:
    assert relevant_label([irrelevant, relevant]) == 1
    assert relevant_label([relevant, irrelevant]) == 0


@pytest.mark.parametrize(
    "names",
    [("cat", "dog"), ("relevant", "relevant"), ("yes", "true"), ("very relevant", "partly relevant"), ("", "a")],
)
def test_other_names_say_nothing(names: tuple[str, str]) -> None:
    assert relevant_label(names) is relevant_label(names[::-1]) is None


def test_names_are_read_by_number() -> None:
    assert label_names({"id2label": {"1": "b", "0": "a"}}) == ["a", "b"]
    assert label_names({"id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "label2id": {"yes": 0, "no": 1}}) == ["yes", "no"]
    assert label_names({"label2id": {"yes": 0, "no": 1}}) == ["yes", "no"]
    assert label_names({"num_labels": 2}) == []
    assert says_irrelevant("not_relevant")
    assert not says_irrelevant("LABEL_0")


def name_labels(folder: Path, *names: str) -> Path:
    config = read_object(folder / "config.json")
    id2label = {str(number): name for number, name in enumerate(names)}
    put(folder / "config.json", {**config, "id2label": id2label, "label2id": {n: int(i) for i, n in id2label.items()}})
    return folder


def scores(folder: Path, **options: Any) -> Any:
    (declared,) = declare_named_models(NamedModels(names=(str(folder),), options=options))
    (perspective,) = load_named_models([declared], Loading(folder=Path(), device="cpu", precision="fp32"))
    return perspective.score_pairs([(QUERY, text) for text in TEXTS])[0]


@pytest.mark.parametrize(("names", "relevant"), [(("relevant", "not_relevant"), 0), (("no", "yes"), 1)])
def test_a_classifier_scores_by_the_relevant_label(names: tuple[str, str], relevant: int, tmp_path: Path) -> None:
    model, fast = make(tmp_path / "m", "BertForSequenceClassification", num_labels=2), tokenizer()
    with torch.no_grad():
        logits = torch.cat([model(**fast([QUERY], [text], return_tensors="pt")).logits for text in TEXTS])
    folder = name_labels(tmp_path / "m", *names)
    np.testing.assert_allclose(scores(folder), logits.softmax(-1)[:, relevant], atol=1e-5)
    np.testing.assert_allclose(scores(folder, output=1, against=0), logits.softmax(-1)[:, 1], atol=1e-5)


@pytest.mark.parametrize(("names", "relevant"), [(("yes", "no"), 0), (("no", "yes"), 1)])
def test_a_classifier_of_messages_scores_by_the_relevant_label(
    names: tuple[str, str], relevant: int, tmp_path: Path
) -> None:
    fast = tokenizer(padding_side="left", chat_template=TEMPLATE, model_input_names=["input_ids", "attention_mask"])
    sizes = {"num_key_value_heads": 1, "head_dim": 16, "num_labels": 2}
    model = make(tmp_path / "m", "Qwen3ForSequenceClassification", fast=fast, **sizes)
    modalities = {name: {"method": "forward", "method_output_name": "logits"} for name in ("text", "message")}
    put(tmp_path / "m/sentence_bert_config.json", {"modality_config": modalities})
    folder, expected = name_labels(tmp_path / "m", *names), []
    for text in TEXTS:
        messages = [{"role": "query", "content": QUERY}, {"role": "document", "content": text}]
        ids = fast(fast.apply_chat_template(messages, tokenize=False), add_special_tokens=False, return_tensors="pt")
        with torch.no_grad():
            expected.append(float(model(**ids).logits.softmax(-1)[0, relevant]))
    assert scores(folder).tolist() == pytest.approx(expected, abs=1e-5)


def test_a_classifier_of_messages_with_three_labels_is_refused(tmp_path: Path) -> None:
    fast = tokenizer(padding_side="left", chat_template=TEMPLATE, model_input_names=["input_ids", "attention_mask"])
    make(tmp_path / "m", "Qwen3ForSequenceClassification", fast=fast, num_key_value_heads=1, head_dim=16, num_labels=3)
    put(tmp_path / "m/sentence_bert_config.json", {"modality_config": {"message": {"method": "forward"}}})
    with pytest.raises(ArtefactError, match=r"3 labels .LABEL_0, LABEL_1, LABEL_2;"):
        scores(tmp_path / "m")


def test_names_that_say_nothing_are_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make(tmp_path / "m", "BertForSequenceClassification", num_labels=2)
    with caplog.at_level(logging.WARNING):
        expected = scores(tmp_path / "m")
        assert "do not say" not in caplog.text
        assert scores(name_labels(tmp_path / "m", "cat", "dog")).tolist() == expected.tolist()
    assert "'cat' and 'dog' do not say" in caplog.text


def test_a_single_label_for_irrelevance_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "m", "BertForSequenceClassification")
    with pytest.raises(InputError, match=r"1 outputs .*not_relevant.*output=0"):
        scores(name_labels(tmp_path / "m", "not_relevant"))
    assert len(scores(tmp_path / "m", output=0)) == 3
