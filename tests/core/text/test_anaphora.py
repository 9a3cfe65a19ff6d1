import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text import Document
from mpir.core.text.split import antecedents, is_anaphoric, sentences


@pytest.mark.parametrize(
    "text",
    [
        "It is caused by mutations of CFTR.",
        "It is a protein that binds DNA.",
        "They contain six conserved cysteines.",
        "Its toxicity is old.",
        "Their use is rare.",
        "These mutations are found in anemia.",
        "The drug was approved.",
        "This syndrome is rare.",
        "Such a defect is lethal.",
    ],
)
def test_what_speaks_of_something_before(text: str) -> None:
    assert is_anaphoric(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is known that CFTR is a channel.",
        "It was not clear whether it binds.",
        "This study enrolled adults.",
        "These results differ.",
        "The heart beats.",
        "Italy is warm.",
        "Itself.",
        "ITS1 is a spacer.",
        "CFTR is mutated. It is long.",
    ],
)
def test_what_does_not(text: str) -> None:
    assert not is_anaphoric(text)


def rows(*documents: Document) -> list[int]:
    split = [(number, sentence) for number, document in enumerate(documents) for sentence in sentences(document)]
    return antecedents(
        [sentence for _, sentence in split], np.array([number for number, _ in split], np.int64)
    ).tolist()


def test_the_nearest_sentence_that_names_something_or_the_title() -> None:
    first = Document("1", "Cystic fibrosis", "It is rare. It is caused by CFTR. CFTR is a gene. Its length is known.")
    second = Document("2", "", "It has no title. They do not help.")
    titled = Document("3", "It is a title", "The drug works.")
    assert rows(first, second, titled) == [0, 0, 0, 3, 3, 5, 6, 7, 7]


@given(st.lists(st.sampled_from(["It is rare.", "CFTR is long.", "They work.", "Adults came."])))
def test_an_antecedent_is_earlier_of_the_same_document_and_names_something(texts: list[str]) -> None:
    abstract = " ".join(texts)
    split = [sentence for number in "12" for sentence in sentences(Document(number, "", abstract))]
    document_of = np.repeat([0, 1], len(split) // 2)
    for row, named in enumerate(antecedents(split, document_of).tolist()):
        if named != row:
            assert named < row and document_of[named] == document_of[row]
            assert is_anaphoric(split[row].text) and not is_anaphoric(split[named].text)
