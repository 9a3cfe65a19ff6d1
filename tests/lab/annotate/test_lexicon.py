from pathlib import Path

import pytest

from mpir.errors import InputError
from mpir.lab.annotate import Lexicon
from mpir.lab.annotate.lexicon import read_chexpert
from mpir.lab.annotate.mentions import ExactMatcher

PHRASES = {"effusion": ["effusion*", "!pericardial effusion*"], "nodule": ["nodule", "Lung-Nodule"]}


def found(lexicon: Lexicon, text: str) -> list[tuple[str, str]]:
    return [(match.entry.concept, text[match.begin : match.end]) for match in ExactMatcher(lexicon).find(text)]


def test_a_file_is_read_and_written_back(tmp_path: Path) -> None:
    path = tmp_path / "lexicon.tsv"
    path.write_bytes(
        b"\xef\xbb\xbf# a comment\r\neffusion\tEffusion*\r\neffusion\t!pericardial  effusion*\r\n"
        b"\r\nnodule\tnodule\r\nnodule\tLung-Nodule\r\n"
    )
    lexicon = Lexicon.load(path)
    assert lexicon == Lexicon.of(PHRASES)
    assert lexicon.concepts == ("effusion", "nodule")
    lexicon.save(tmp_path / "again.tsv")
    assert Lexicon.load(tmp_path / "again.tsv") == lexicon


def test_the_fingerprint_is_that_of_the_content() -> None:
    second = {"nodule": ["Lung-Nodule", "nodule"], "effusion": ["!pericardial effusion*", "effusion*"]}
    assert Lexicon.of(PHRASES).fingerprint == Lexicon.of(second).fingerprint
    assert Lexicon.of(PHRASES).fingerprint != Lexicon.of({"effusion": ["effusion"]}).fingerprint


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("effusion effusion*\n", r"lexicon\.tsv:1: found 'effusion effusion\*'"),
        ("# only\nedema\t\n", r"lexicon\.tsv:2: .*a concept"),
        ("\tedema\n", r"lexicon\.tsv:1: .*a concept"),
        ("edema\t*\n", r"lexicon\.tsv:1: .*a concept"),
        ("edema\ted*ma\n", r"lexicon\.tsv:1: .*phrase 'ed\*ma'"),
        ("a\tmass\nb\tMASS\n", r"lexicon\.tsv:2: .*'mass' .*'b', .*:1 .*'a'"),
        ("", r"lexicon\.tsv: .*no phrases"),
        ("edema\t!leg edema\n", r"lexicon\.tsv: .*no phrases"),
    ],
)
def test_what_is_no_lexicon_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "lexicon.tsv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        Lexicon.load(path)


def test_words_match_whole_in_any_case_over_hyphens_and_line_ends() -> None:
    text = "EFFUSIONS; lung\n nodule, lung-nodule. Noduled, antieffusion"
    assert found(Lexicon.of(PHRASES), text) == [
        ("effusion", "EFFUSIONS"),
        ("nodule", "lung\n nodule"),
        ("nodule", "lung-nodule"),
    ]


def test_the_longest_phrase_wins_whatever_its_concept() -> None:
    lexicon = Lexicon.of({"mass": ["mass*"], "index": ["massive"], "body": ["mass index"]})
    assert found(lexicon, "mass, massive, masses, mass index") == [
        ("mass", "mass"),
        ("index", "massive"),
        ("mass", "masses"),
        ("body", "mass index"),
    ]


def test_an_exclusion_is_of_its_concept_only() -> None:
    lexicon = Lexicon.of({**PHRASES, "heart": ["pericardial"]})
    assert found(lexicon, "pericardial effusions and effusion") == [("heart", "pericardial"), ("effusion", "effusion")]


def test_an_exclusion_counts_where_one_of_another_concept_overlaps_it() -> None:
    lexicon = Lexicon.of({**PHRASES, "lung": ["lung", "!no pericardial"]})
    assert found(lexicon, "no pericardial effusion") == []
    assert found(lexicon, "no pericardial effusion, effusion") == [("effusion", "effusion")]


def test_an_address_or_a_number_mentions_nothing() -> None:
    lexicon = Lexicon.of({"nodule": ["nodule"], "five": ["5"], "two": ["2"]})
    text = "see https://example.org/nodule?a nodule me.nodule@example.org www.nodule.org 2.5 1/2 5. nodule"
    assert found(lexicon, text) == [("nodule", "nodule"), ("five", "5"), ("nodule", "nodule")]
    assert found(lexicon, "2.5") == found(lexicon, "2/5") == []


def test_chexpert_folders_become_a_lexicon(tmp_path: Path) -> None:
    for name, content in {
        "mention/no_finding": "density\ndefib\n",
        "mention/support_devices": "_line_\ndefib",
        "mention/pleural_effusion": "effusion\r\n\r\n",
        "unmention/pleural_effusion": "pericardial effusion",
    }.items():
        path = tmp_path / f"{name}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="")
    assert {entry.line for entry in read_chexpert(tmp_path).entries} == {
        "pleural effusion\teffusion*",
        "pleural effusion\t!pericardial effusion*",
        "support devices\tline",
        "support devices\tdefib*",
        "other finding\tdensity*",
    }
    with pytest.raises(InputError, match=r"mention: .*mention/\*\.txt"):
        read_chexpert(tmp_path / "mention")
