"""Pairs to tokens: joined from texts tokenised once, they are what the tokenizer gives; what is long is in_passages."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from mpir.core.text.legible import legible
from mpir.errors import InputError
from mpir.models.tokens.tokenise import (
    PairTokenizer,
    TokenSequence,
    _tokenised,
    batches,
    find_template,
    pad,
    tokenise_sides,
)

LETTERS = [chr(number) for number in range(ord("a"), ord("z") + 1)]
TEXTS = ["Is aspirin safe", "aspirin, is it safe?", "", " ", "  two  spaces ", "naïve β-cells", "x [SEP] <s> y", "a\n"]


def wordpiece() -> PreTrainedTokenizerFast:
    """As BERT's."""
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "aspirin",
        "is",
        *LETTERS,
        *(f"##{x}" for x in LETTERS),
        "?",
        ",",
        "-",
    ]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    names = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=names, **special)


def byte_level() -> PreTrainedTokenizerFast:
    """As RoBERTa's: bytes, a space before the first word, two separators, no segments."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "Ġa", "Ġi", "Ġis"]
    merges = [("Ġ", "a"), ("Ġ", "i"), ("Ġi", "s")]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=True)
    return special(tokenizer)


def metaspace() -> PreTrainedTokenizerFast:
    """As XLM-R's: unigrams of a text whose spaces are marked."""
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), ("▁is", -3.0)]
    tokenizer = Tokenizer(models.Unigram([*pieces, *((letter, -4.0) for letter in LETTERS)], unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return special(tokenizer)


def reversed_pairs() -> PreTrainedTokenizerFast:
    """One that puts the second text first."""
    tokenizer = byte_level().backend_tokenizer
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $B </s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return special(tokenizer)


def special(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>"}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_input_names=["input_ids", "attention_mask"], **names
    )


TOKENIZERS = [wordpiece, byte_level, metaspace, reversed_pairs]
MakeTokenizer = Callable[[], PreTrainedTokenizerFast]


def listed(tokens: TokenSequence) -> tuple[list[int], list[int]]:
    return tokens.ids.tolist(), tokens.type_ids.tolist()


@pytest.mark.parametrize("make", TOKENIZERS)
def test_sequences_are_what_the_tokenizer_gives_for_the_pair(make: MakeTokenizer) -> None:
    tokenizer = make()
    assert (find_template(tokenizer) is None) == (make is reversed_pairs)
    pairs = [(text, second) for text in TEXTS for second in TEXTS]
    result = PairTokenizer(tokenizer, 512).read(pairs)
    expected = tokenizer([text for text, _ in pairs], [second for _, second in pairs], return_token_type_ids=True)
    rows = np.arange(len(pairs))
    assert [listed(tokens) for tokens in result.sequences(rows)] == list(
        zip(expected["input_ids"], expected["token_type_ids"], strict=True)
    )
    assert result.lengths.tolist() == [len(ids) for ids in expected["input_ids"]]
    assert result.pair_of.tolist() == rows.tolist()


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), max_size=5))
def test_any_text_is_joined_as_the_tokenizer_joins_it(pairs: list[tuple[str, str]]) -> None:
    for tokenizer, reader in JOINED:
        result = reader.read(pairs).sequences(np.arange(len(pairs)))
        read = [[legible(text) for text in column] for column in zip(*pairs, strict=True)]
        expected = tokenizer(*read)["input_ids"] if pairs else []
        assert [tokens.ids.tolist() for tokens in result] == expected


JOINED = [(tokenizer, PairTokenizer(tokenizer, 512)) for tokenizer in (wordpiece(), byte_level(), metaspace())]


def test_each_text_is_tokenised_once() -> None:
    class Counting(PairTokenizer):
        def texts(self, texts: list[str]) -> Any:
            recorded.extend(texts)
            return super().texts(texts)

    recorded: list[str] = []
    Counting(wordpiece(), 512).read([("q", "one"), ("q", "two"), ("r", "one"), ("r", "two")])
    assert recorded == ["q", "r", "one", "two"]


def test_the_sides_of_pairs_are_tokenised_in_one_call() -> None:
    calls: list[list[str]] = []

    def letters(texts: list[str]) -> list[Any]:
        calls.append(texts)
        return [np.array([ord(letter) for letter in text], np.int32) for text in texts]

    questions, sentences = tokenise_sides([("q", "one"), ("qq", "one"), ("q", "q")], letters)
    assert calls == [["q", "qq", "one", "q"]]
    assert [ids.tolist() for ids in questions.ids] == [[113], [113, 113]]
    assert (questions.text_of.tolist(), questions.lengths.tolist()) == ([0, 1, 0], [1, 2, 1])
    assert (sentences.text_of.tolist(), sentences.lengths.tolist()) == ([0, 0, 1], [3, 3, 1])


def test_no_pairs_need_no_tokenizer() -> None:
    sides = tokenise_sides([], lambda texts: pytest.fail("called"))
    assert [side.lengths.tolist() for side in sides] == [[], []]
    result = PairTokenizer(wordpiece(), 512).read([])
    assert (result.pair_of.tolist(), result.lengths.tolist(), result.sequences(result.pair_of)) == ([], [], [])


def test_encoders_with_the_same_tokenizer_tokenise_once() -> None:
    pairs = [("a question", "one aspirin"), ("a question", "is two")]
    before = _tokenised.cache_info()
    first, same, second = (PairTokenizer(variant(), 512).read(pairs) for variant in (wordpiece, wordpiece, byte_level))
    after = _tokenised.cache_info()
    assert (after.hits - before.hits, after.misses - before.misses) == (1, 2)
    ids = [[tokens.ids.tolist() for tokens in result.sequences(np.arange(2))] for result in (first, same, second)]
    assert ids[0] == ids[1] != ids[2]


def test_a_tokenizer_saved_with_truncation_or_padding_cuts_nothing() -> None:
    tokenizer = wordpiece()
    tokenizer.backend_tokenizer.enable_truncation(8)
    tokenizer.backend_tokenizer.enable_padding(length=40)
    assert PairTokenizer(tokenizer, 512).read([("a", "b " * 50)]).lengths.tolist() == [54]


def test_an_added_token_is_one_token_in_both_ways() -> None:
    tokenizer = wordpiece()
    tokenizer.add_tokens([AddedToken("cell line")])
    (result,) = PairTokenizer(tokenizer, 64).read([("a cell line", "cell line b")]).sequences(np.arange(1))
    assert result.ids.tolist() == tokenizer(["a cell line"], ["cell line b"])["input_ids"][0]


@pytest.mark.parametrize("make", [wordpiece, byte_level, reversed_pairs])
@pytest.mark.parametrize(("question", "sentence"), [(3, 100), (100, 3), (25, 30), (100, 200), (100, 0), (0, 100)])
def test_passages_of_a_long_pair_fit_and_lose_nothing(make: MakeTokenizer, question: int, sentence: int) -> None:
    """Every token of either text is in some passage; where one text is short, it is whole in each."""
    tokenizer = make()
    pair = (" ".join("abcdefg"[i % 7] for i in range(question)), " ".join("mnopqrs"[i % 7] for i in range(sentence)))
    result = PairTokenizer(tokenizer, 32).read([("x", "y"), pair])
    assert result.pair_of.tolist() == [0] + [1] * (len(result.pair_of) - 1)
    assert len(result.pair_of) > 2
    sequences = result.sequences(np.arange(1, len(result.pair_of)))
    assert result.lengths[1:].tolist() == [len(tokens.ids) for tokens in sequences]
    assert result.lengths.max() <= 32
    complete = set(tokenizer([pair[0]], [pair[1]])["input_ids"][0])
    assert set().union(*(tokens.ids.tolist() for tokens in sequences)) >= complete


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("make", TOKENIZERS)
def test_long_pairs_are_cut_as_the_tokenizer_cuts_them(make: MakeTokenizer, side: str) -> None:
    tokenizer = make()
    tokenizer.truncation_side = side
    texts = ["a b c", " ".join("abcdefg"[i % 7] for i in range(60)), " ".join("mnopqrs"[i % 7] for i in range(90))]
    pairs = [(text, second) for text in texts for second in texts]
    result = PairTokenizer(tokenizer, 32, truncates=True).read(pairs)
    expected = tokenizer(*map(list, zip(*pairs, strict=True)), truncation="longest_first", max_length=32)
    assert [tokens.ids.tolist() for tokens in result.sequences(np.arange(len(pairs)))] == expected["input_ids"]


def test_no_room_for_two_texts_is_refused() -> None:
    with pytest.raises(InputError, match=r"max_length is 19 .*\b4\b.*\b20\b"):
        PairTokenizer(byte_level(), 19)


def test_batches_cover_every_row_once_within_the_budget() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 200)
    result = list(batches(lengths, 128))
    assert sorted(np.concatenate(result)) == list(range(200))
    assert all(len(rows) * lengths[rows].max() <= 128 for rows in result)
    assert [lengths[rows].max() for rows in result] == sorted((lengths[rows].max() for rows in result), reverse=True)


def test_a_padded_batch() -> None:
    long, short = (TokenSequence(np.arange(1, n + 1, dtype=np.int32), np.ones(n, np.int32)) for n in (3, 1))
    result = pad([short, long], 9)
    assert result["input_ids"].tolist() == [[1, 9, 9], [1, 2, 3]]
    assert result["token_type_ids"].tolist() == [[1, 0, 0], [1, 1, 1]]
    assert result["attention_mask"].tolist() == [[1, 0, 0], [1, 1, 1]]
