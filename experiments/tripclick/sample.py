"""A small collection in TripClick's formats, made from mpir's sample, and a random encoder.

Documents, questions and clicks were written for mpir: the results show only that the pipeline runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mpir.core.text.types import Document, Question
from mpir.files.corpora.bioasq import read_questions
from mpir.files.corpora.jsonl import read_jsonl
from mpir.files.corpora.trec import write_qrels
from mpir.files.corpora.tripclick import GROUPS
from mpir.files.folder_format import CHECKPOINT, FolderFormat
from mpir.files.write import atomic_folder, atomic_write

SAMPLE = Path(__file__).parents[2] / "mpir/sample"
FIRST = "documents/docs_grp_00.txt"
BENCHMARK = FolderFormat(marker=FIRST, names=(FIRST, "topics/topics.*", "qrels/qrels.*"))
SPLITS = ("train", "val", "test")
SHAPE = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]")
Clicks = list[tuple[Question, list[str]]]


def write_sample(folder: Path) -> Path:
    """Write the folder ``benchmark``, with titles as training queries and questions as test queries.

    Behind every fourth title the next document is clicked, too, which others without a click stand above.
    """
    texts = list(read_jsonl(SAMPLE / "documents.jsonl"))
    documents = {document.id: str(number) for number, document in enumerate(texts, 1)}
    clicks: Clicks = [
        (
            Question(f"{1000 + i}", document.title),
            [documents[clicked.id] for clicked in texts[i : i + (2 if i % 4 == 0 else 1)]],
        )
        for i, document in enumerate(texts)
        if document.title
    ]
    tested: Clicks = [
        (Question(f"{2000 + i}", document.body), [documents[name] for name in document.documents or ()])
        for i, document in enumerate(read_questions(SAMPLE / "questions.json"))
    ]
    with atomic_folder(folder, BENCHMARK) as temporary:
        for name in ("documents", "topics", "qrels"):
            (temporary / name).mkdir()
        with atomic_write(temporary / FIRST) as stream:
            stream.writelines(_document(documents[document.id], document) for document in texts)
        for number, group in enumerate(GROUPS):
            shares = clicks[number::3], tested[number::6], tested[number + 3 :: 6]
            for split, share in zip(SPLITS, shares, strict=True):
                _write(temporary, group, split, share)
    return folder


def _document(number: str, document: Document) -> str:
    return (
        f"<DOC>\n<DOCNO> {number} </DOCNO>\n<TITLE>{document.title}</TITLE>\n<URL></URL>\n"
        f"<TEXT>\n{document.abstract}\n</TEXT>\n</DOC>\n"
    )


def _write(folder: Path, group: str, split: str, clicks: Clicks) -> None:
    topics = (
        f"<top>\n<num> Number: {query.id}\n<title> {query.body}\n<desc> Descrption:\n<narr> Narrative:\n</top>\n\n"
        for query, _ in clicks
    )
    (folder / f"topics/topics.{group}.{split}.txt").write_text("".join(topics), encoding="utf-8")
    other_names = [names[0] for _, names in clicks]
    for judgement_type, grade in (("raw", 1), *([("dctr", 2)] if group == "head" else [])):
        judged = {
            query.id: {**{other_names[i - 1]: 0}, **dict.fromkeys(names, grade)}
            for i, (query, names) in enumerate(clicks)
        }
        write_qrels(folder / f"qrels/qrels.{judgement_type}.{group}.{split}.txt", judged)


def write_encoder(documents: Sequence[Document], folder: Path) -> Path:
    """A random BERT of two layers, whose vocabulary are the documents' words."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    learner = trainers.WordLevelTrainer(special_tokens=list(SPECIAL), show_progress=False)
    tokenizer.train_from_iterator((document.text for document in documents), learner)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names: dict[str, Any] = {f"{document[1:-1].lower()}_token": document for document in SPECIAL[:5]}
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=256,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        additional_special_tokens=list(SPECIAL[5:]),
        **names,
    )
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=256, initializer_range=0.1, **SHAPE
    )
    with atomic_folder(folder, CHECKPOINT) as temporary:
        BertForSequenceClassification(config).save_pretrained(temporary)
        fast.save_pretrained(temporary)
    return folder
