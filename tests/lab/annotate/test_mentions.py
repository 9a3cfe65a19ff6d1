import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text import Document
from mpir.core.text.phrases import canonical, fold
from mpir.core.text.split import sentences
from mpir.errors import InputError
from mpir.lab.annotate import Lexicon, Mention, NegEx, annotate
from mpir.lab.annotate.fuzzy_match import PartialMatcher
from mpir.lab.annotate.mentions import ExactMatcher

LEXICON = Lexicon.of(
    {
        "effusion": ["effusion*", "pleural effusion", "!pericardial effusion"],
        "edema": ["edema", "vascular congestion"],
        "opacity": ["left lung opacities"],
    }
)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.lists(
        st.sampled_from(
            [
                *(
                    "No ",
                    "effusion",
                    "EFFUSIONS",
                    "pleural",
                    "-",
                    " ",
                    "\n",
                    ". ",
                    "İ",
                    "eﬀusion",
                    "ﬁ",
                    "ß",
                    "edema",
                    "but ",
                    "http://",
                ),
                *("pericardial ", "vascular ", "congestion", "left ", "lung ", "opacity ", "may be ", "1.5", "\ud800"),
            ]
        )
    ).map("".join),
)


def test_offsets_are_into_the_section() -> None:
    document = Document("7", "Old edema", "Clear.No pleural effusion. Edema may be seen.")
    result = [mention for several in annotate(sentences(document, splitting="report"), LEXICON) for mention in several]
    assert result == [
        Mention(concept="edema", phrase="edema", begin=4, end=9, status="affirmed", trigger=""),
        Mention(concept="effusion", phrase="pleural effusion", begin=9, end=25, status="negated", trigger="No"),
        Mention(concept="edema", phrase="edema", begin=27, end=32, status="affirmed", trigger=""),
    ]
    assert document.abstract[9:25] == "pleural effusion"


@given(TEXTS)
def test_a_mention_is_where_its_offsets_say(text: str) -> None:
    for matcher in (ExactMatcher(LEXICON), PartialMatcher(LEXICON)):
        (result,) = annotate([text], LEXICON, matcher=matcher)
        for mention in result:
            piece = text[mention.begin : mention.end]
            assert piece == piece.strip() != ""
            assert fold(mention.trigger) in fold(text)
            if matcher.name == "exact":
                assert canonical(piece).startswith(mention.phrase.rstrip("*"))
        assert [(m.begin, m.end) for m in result] == sorted((m.begin, m.end) for m in result)
        if matcher.name == "exact":
            assert all(first.end <= second.begin for first, second in pairwise(result))


@given(TEXTS)
def test_folding_keeps_every_offset(text: str) -> None:
    assert len(fold(text)) == len(text)


@given(st.text("ΑΣσς:'İß "))
def test_a_piece_is_folded_as_it_is_in_its_text(text: str) -> None:
    """Python makes a capital sigma one small letter or the other, by what stands beside it."""
    for begin in range(len(text)):
        assert fold(text[begin:]) == fold(text)[begin:]
        assert fold(text[:begin]) == fold(text)[:begin]


@pytest.mark.parametrize("phrase", ["ασ", "ΑΣ", "ας"])
@pytest.mark.parametrize("text", ["the ΑΣ:Β protein", "the ΑΣ", "the ας", "the ασ"])
def test_sigma_at_the_end_of_a_word_is_sigma(phrase: str, text: str) -> None:
    for matcher in (ExactMatcher, PartialMatcher):
        result = matcher(Lexicon.of({"sigma": [phrase]})).find(text)
        assert [(item.entry.concept, item.begin, item.end) for item in result] == [("sigma", 4, 6)]


LIGATURES = {"ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ", "ffi": "ﬃ", "ffl": "ﬄ", "st": "ﬆ"}


@pytest.mark.parametrize("matcher", [ExactMatcher, PartialMatcher])
@pytest.mark.parametrize("printed", [True, False])
def test_ligatures_are_letters_and_offsets_stay(matcher: type[ExactMatcher | PartialMatcher], printed: bool) -> None:
    phrases = {"cystic": ["cystic fibrosis", "!cystic fibrosis score"], "effusion": ["effusion*"], "flail": ["flail"]}
    text = (
        "A cystic ﬁbrosis score for each of these seven children. Cystic-ﬁbrosis, a first eﬀusion; the eﬄuent is "
        "without difficulty of a ﬂail."
    )
    if printed:
        phrases = {name: [phrase.replace("fi", "ﬁ").replace("ff", "ﬀ") for phrase in phrases[name]] for name in phrases}
    lexicon = Lexicon.of(phrases)
    (result,) = annotate([text], lexicon, matcher=matcher(lexicon), negation=NegEx([("without diﬃculty of a", "PREN")]))
    assert [(text[item.begin : item.end], item.phrase, item.status, item.trigger) for item in result] == [
        ("Cystic-ﬁbrosis", "cystic fibrosis", "affirmed", ""),
        ("eﬀusion", "effusion*", "affirmed", ""),
        ("ﬂail", "flail", "negated", "without difficulty of a"),
    ]


@given(st.lists(st.sampled_from(["effusion", "fist", "edema ", "1.5", " no ", "pleural ", "baffle", "-", "İ"])))
def test_a_text_with_ligatures_is_annotated_as_without(pieces: list[str]) -> None:
    text, printed = "".join(pieces), "".join(pieces)
    for letters in sorted(LIGATURES, key=len, reverse=True):
        printed = printed.replace(letters, LIGATURES[letters])
    for matcher in (ExactMatcher(LEXICON), PartialMatcher(LEXICON)):
        (plain,), (result,) = (annotate([item], LEXICON, matcher=matcher) for item in (text, printed))
        assert [(item.concept, item.status) for item in result] == [(item.concept, item.status) for item in plain]
        assert [canonical(printed[m.begin : m.end]) for m in result] == [
            canonical(text[m.begin : m.end]) for m in plain
        ]


@given(TEXTS)
def test_sentences_alone_or_together_are_annotated_alike(text: str) -> None:
    result = sentences(Document("1", "", text), splitting="report")
    assert list(annotate(result, LEXICON)) == [next(annotate([item], LEXICON)) for item in result]


def test_the_papers_example() -> None:
    lexicon = Lexicon.of({"vascular congestion": ["vascular congestion"], "pulmonary edema": ["edema"]})
    text = "lungs: central vascular congestion without overt edema."
    for matcher in (ExactMatcher(lexicon), PartialMatcher(lexicon)):
        (result,) = annotate([text], lexicon, matcher=matcher)
        assert [(m.status, m.concept) for m in result] == [
            ("affirmed", "vascular congestion"),
            ("negated", "pulmonary edema"),
        ]


def partial(text: str, threshold: float = 0.7) -> list[str]:
    return [text[m.begin : m.end] for m in PartialMatcher(LEXICON, threshold=threshold).find(text)]


def test_words_are_partners_above_the_threshold() -> None:
    text = "An opacity in the left lung."  # "opacit" is 6 of the 9 letters of "opacities"
    assert partial(text, threshold=0.66) == ["opacity in the left lung"]
    assert partial(text, threshold=0.67) == []
    assert partial(text, threshold=6 / 9) == []


def test_words_stand_within_the_gap() -> None:
    assert partial("Opacities seen in the left lung") == ["Opacities seen in the left lung"]  # 6 words for 3
    assert partial("Opacities seen now in the left lung") == []


def test_one_word_is_no_partner_twice() -> None:
    twice = Lexicon.of({"a": ["lung lungs"]})
    assert PartialMatcher(twice).find("the lung") == []
    assert len(PartialMatcher(twice).find("the lung of lungs")) == 1


def test_a_match_inside_a_wider_one_gives_way() -> None:
    assert partial("pleural and other effusions") == ["pleural and other effusions"]
    assert partial("pericardial effusion") == []


def test_an_address_or_a_number_has_no_words_for_a_phrase_either() -> None:
    lexicon = Lexicon.of({"opacity": ["left lung opacities"], "grade": ["grade 2"]})
    text = "Left lung: https://example.org/opacities; grade 2.5. Grade (of) 2."
    result = PartialMatcher(lexicon).find(text)
    assert [text[m.begin : m.end] for m in result] == ["Grade (of) 2"]
    assert PartialMatcher(lexicon).find("left https://example.org a b c lung opacity") == []  # which is four words


@pytest.mark.parametrize("options", [{"threshold": 1.0}, {"threshold": -0.1}])
def test_a_threshold_that_is_none_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match="threshold is {threshold};".format(**options)):
        PartialMatcher(LEXICON, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "piece",
    ["no effusion ", "effusion", "x", "pleural ", "www.a.b effusion ", "vascular-", "history of effusion ", "eﬀusion "],
)
def test_a_long_text_without_a_full_stop_takes_linear_time(piece: str) -> None:
    text = piece * (2**18 // len(piece))
    for matcher in (ExactMatcher(LEXICON), PartialMatcher(LEXICON)):
        start = time.process_time()
        next(annotate([text], LEXICON, matcher=matcher, negation=NegEx.load("negation", "hedges")))
        assert time.process_time() - start < 8
