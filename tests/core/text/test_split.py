import re
import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mpir.core.text.split import sentences, split
from mpir.core.text.types import ABSTRACT, TITLE, Document

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # surrogates, NUL and unassigned code points included
LIKE_TEXT = st.lists(
    st.sampled_from(
        ["The gene.", "p53", "e.g.", "METHODS: ", ".", " ", "\n", "\r\n", "\n\n", "?!", ").", "]", "É", "\ud800", "a"]
    )
).map("".join)

UNENDING = st.lists(st.sampled_from(["word", "pause,", "é", "p53;"]), min_size=90, max_size=400).map(" ".join)

LIKE_REPORT = st.lists(st.sampled_from(["1.", " 2) ", "\n- ", "apex.", "A ", "XXXX", "FINDINGS: "])).map("".join)


def pieces(text: str) -> list[str]:
    return [text[begin:end] for begin, end in split(text)]


@given(st.one_of(ANY_TEXT, LIKE_TEXT, UNENDING))
@example("\ud800. \udc00 A\x00. B")
@example("e\u0301. \u0301B \U0001f600. \U0001f469\u200d\U0001f52c. C\r\nD.\r\n\r\nE")
def test_spans_are_ordered_and_lose_no_character(text: str) -> None:
    spans = split(text)
    ends = [0, *(end for _, end in spans)]
    assert all(before <= begin < end for before, (begin, end) in zip(ends, spans, strict=False))
    assert all(piece == piece.strip() for piece in pieces(text))
    assert re.sub(r"\s", "", "".join(pieces(text))) == re.sub(r"\s", "", text)


@given(ANY_TEXT, ANY_TEXT)
def test_sentences_reproduce_their_section(title: str, abstract: str) -> None:
    document = Document("7", title, abstract)
    result = sentences(document)
    assert all(document.sections[s.section][s.begin : s.end] == s.text for s in result)
    assert all(s.document == "7" for s in result)
    assert [s.section for s in result] == sorted((s.section for s in result), reverse=True)  # title, then abstract


@pytest.mark.parametrize(
    "expected",
    [
        ["It works.", "It failed!", "Did it?", "Yes."],
        ["Levels rose (p < 0.05).", "They fell [3].", '"Why?"', "So."],
        ["As in Fig. 2 and Refs. 3, 4 vs. Placebo, e.g. S. aureus and Borrelia sp. B1.", "Next."],
        ["It was given i.v.", "Doses rose, see Smith et al. Blood 1999."],
        ["Cells died.", "mRNA rose.", "p53 fell.", "gamma-Secretase cuts."],
        ["Of 0.5 mg vs. 1.5 mg at approx. 37 degrees."],
        ["BACKGROUND: It is rare.", "METHODS: We looked."],
        ["A heading without a stop"],
        ["From Jan. 1, 1996, to 5 Apr. 2013.", "It ended in Dec.", "Then 30 were left.", "Of 10 mM.", "It rose."],
        ["without capitals any word begins one .", "see fig. 2, e.g. its legend.", "mg/ml rose."],
        ["It has a capital. so this goes on."],
        ["pt has fever.", "hx of asthma.", "no cough.", "CXR clear.", "plan: rest."],
        ["B. afzelii, Borr. garinii, Borr. lusitaniae and Borr. valaisiana were found."],
        ["cells died.", "e. coli grew at 20 c. or more.", "it fell."],
        ["They bind.", "β-catenin moves.", "γH2AX stays. μM were used."],
        ["1. They slept.", "(2) They ate.", "3) Both."],
        [
            "It was seen in a trial.1,2",
            "Patients were treated.[3-5, 7]",
            "Then (in 40%).6",
            "It took 2.5 Hours.",
            "See Fig.2 There.",
        ],
        [
            "Spike binds ACE2.[1]",
            "Mutant p53.[12,13]",
            "It rose in trials.¹,²",
            "Patients slept.³–⁵",
            "Then they woke.",
        ],
        ["CFTR is mutated in CF.", "It slows MS.", "They came to the ED.", "Of iNOS or NO.", "CA.", "EDS.", "End."],
        ["At Mt. Sinai, cf. Dr. Lee, No. 5, ca. 7 of St. Mary, gave Vit. C and B."],
        ["It fell (95% C.I. 1.2-3.4; 95%C.I. 5-6), see Vol. 12, pp. 45-50 and p. 7, Tab. 1, max. 5."],
        ["That is its C.I.", "We saw it on p.", "Next."],
        ["It rose in rats.(1)", "It fell in mice.(2,3)", "Both slept."],
        ["We did Exp. 2, Expt. 3 and Art. 5, as in Sect. 3, Eqn. 4 and Chap. 2."],
        ["Cat. No. 12 and Lot No. 7 were used.", "It sat on the cat.", "No mouse slept."],
        ["Serovar. Typhi and biovar. Abortus grew.", "They died."],
        ["It is sold in the U.S.", "The U.S. Food and Drug Administration asked U.S. Census staff."],
        ["It was given i.v.", "The dose of i.v. PCA rose as in Tap et al.", "However, they slept."],
        ["Given 5 mg b.i.d.", "Patients had 20 mg t.i.d. (n = 9), 3 q.d. + 1 b.i.d. and slept."],
    ],
)
def test_splits_as_a_reader_would(expected: list[str]) -> None:
    assert pieces(" ".join(expected)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is rare.METHODS: We looked.", ["It is rare.", "METHODS: We looked."]),
        (
            "Drugs were used.Methods: We looked (twice)Results: It was.Methods of old: none.",
            ["Drugs were used.", "Methods: We looked (twice)", "Results: It was.", "Methods of old: none."],
        ),
        (
            "It was 5 ml.Why? It leaked.However, 3 mg.Then e.g.Two",
            ["It was 5 ml.", "Why?", "It leaked.", "However, 3 mg.", "Then e.g.Two"],
        ),
        ("A heading\n\nits text", ["A heading", "its text"]),
        ("A heading\r\n \r\nIts text", ["A heading", "Its text"]),
        ("a line\nbroken in two", ["a line\nbroken in two"]),
        ("  \n\t ", []),
        ("", []),
    ],
)
def test_headings_lines_and_blanks(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


@given(UNENDING)
def test_what_never_ends_is_cut_into_pieces_of_a_sentences_length(text: str) -> None:
    lengths = [len(piece.split()) for piece in pieces(text)]
    assert lengths == [len(text.split())] if len(text.split()) <= 100 else all(21 <= n <= 59 for n in lengths)


def test_a_cut_is_behind_a_pause_where_one_is_near() -> None:
    plain = ["word"] * 120
    assert [len(piece.split()) for piece in pieces(" ".join(plain))] == [40, 40, 40]
    paused = [*plain[:34], "first;", *plain[35:95], "far,", *plain[96:]]
    assert [piece.split()[-1] for piece in pieces(" ".join(paused))] == ["first;", "word", "word"]
    longest = " ".join(["Word", *plain[:98], "end."])
    assert pieces(f"It is. {longest} Next.") == ["It is.", longest, "Next."]
    assert len(pieces(f"It is. {longest[:-1]} stop.")) == 4  # 101 words


@pytest.mark.parametrize(
    "expected",
    [
        ["<h4>Background</h4>It is rare.", "<h4>Methods</h4>We <i>asked</i>."],
        ["<div><p class='a'>It is rare.", "<b>It</b> kills.</p>", '<p id="2">No stop</p>', "<p>Next.</p></div>"],
        ["It rose (p < 0.05).<br/>", "<b>CONCLUSIONS</b>: It rises."],
        ["<jats:title>Aim</jats:title>", "<jats:p>To ask.</jats:p>"],
        ["Of two:<ul><li>fever</li><li>cough.</li>", "<li>Pain.</li></ul>"],
        ["In a trial.<sup>1,2</sup> ", "Patients ate H<sub>2</sub>O if a<b and c>d."],
    ],
)
def test_paragraphs_end_where_their_tags_say(expected: list[str]) -> None:
    text = "".join(expected)
    assert pieces(text) == [item.strip() for item in expected]


def test_a_report_keeps_what_never_ends_whole() -> None:
    text = " ".join(["no", *["word,"] * 120, "effusion"])
    assert split(text, splitting="report") == [(0, len(text))]
    assert len(split(text)) > 1


def test_a_long_list_is_cut_where_its_lines_end() -> None:
    lines = ["- " + "item, " * 16 + "last"] * 8
    assert all(piece.startswith("- item") and piece.endswith("last") for piece in pieces("\n".join(lines)))


def test_blank_sections_have_no_sentences() -> None:
    assert sentences(Document("1", " ", "")) == []
    assert [(s.section, s.text) for s in sentences(Document("1", "T.", "A."))] == [(TITLE, "T."), (ABSTRACT, "A.")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "It was seen in 12 rats. " * 42_000,
        "." * 1_000_000,
        "<p> " * 250_000,
        "A.</p><br>" * 100_000,
        ". " * 100_000,  # every one a sentence
        ".)" * 500_000,
        "\n" * 1_000_000,
        " \n" * 500_000,
        "a\n" * 500_000,
        "A" * 1_000_000,
        "A, " * 330_000,
        ".A/" * 330_000,
        "a" * 20_000 + ". B",
    ],
    ids=lambda text: repr(text[:6]),
)
def test_long_texts_take_seconds_at_most(text: str) -> None:
    begin = time.process_time()  # the processor time, as the machine may be busy; quadratic time would be hours
    spans = split(text)
    assert time.process_time() - begin < 10
    assert sum(not c.isspace() for begin, end in spans for c in text[begin:end]) == sum(not c.isspace() for c in text)


@given(
    st.one_of(
        ANY_TEXT, LIKE_TEXT, st.lists(st.sampled_from(["1.", " 2) ", "\n- ", "apex.", "A ", "XXXX"])).map("".join)
    )
)
def test_a_reports_spans_lose_no_character_either(text: str) -> None:
    spans = split(text, splitting="report")
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    result = [text[begin:end] for begin, end in spans]
    assert re.sub(r"\s", "", "".join(result)) == re.sub(r"\s", "", text)


@pytest.mark.parametrize(
    ("join", "expected"),
    [
        ("", ["Scar in the apex.", "There is no effusion.", "A small nodule.", "XXXX are clear."]),
        (" ", ["1. Bullous emphysema.", "2. Scar.", "3.Old fracture at XXXX hours.", "4) Tube."]),
        ("", ["Bullous emphysema.", "2. Scar.", "3.Old fracture at XXXX hours.", "4) Tube."]),
        ("\n", ["FINDINGS: The lungs are clear", "IMPRESSION: Normal", "1. One", "- Two"]),
        (" ", ["The size is 1.5 cm, seen by Dr.Smith, M.D. and on www.example.org/Scar today."]),
        (" ", ["A nodule of 2.", "It is calcified."]),
    ],
)
def test_reports_are_split_where_a_reader_would(join: str, expected: list[str]) -> None:
    text = join.join(expected)
    assert [text[begin:end] for begin, end in split(text, splitting="report")] == expected


def test_an_abstract_knows_nothing_of_reports() -> None:
    text = "XXXX is.XXXX are in the apex. 1. One\n- two"
    assert pieces(text) == ["XXXX is.XXXX are in the apex.", "1. One\n- two"]


@pytest.mark.parametrize(
    "text",
    [
        "Media came from Sigma Inc. (St. Louis, MO) and Takara Co. Ltd. (Shiga, Japan).",
        "Data of U.K. Biobank participants were used.",
        "Patients of the M.D. Anderson Cancer Center took part.",
        "All primers are in Suppl. Table S1.",
        "They had 20 mg b.d. (n = 90) or 30 mg t.d.s. [group B] for 9 days.",
        "The mean age was 54 years (S.D. 12) or 51 (s.e.m. 3).",
        "As told before in Mol Biol. 109, 317, cells divide.",
        "All films were read by Dr. E. Smith and Prof. P. J. Jones.",
        "Capt. Miller and Lt. Jones gave blood at Ft. Detrick.",
        "Cells came from A.T.C.C. (Manassas, VA).",
    ],
)
def test_abbreviations_by_what_follows_them(text: str) -> None:
    assert split(text) == [(0, len(text))]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("They had 20 mg b.d.", " Half of them recovered."),
        ("She works for Sigma Inc.", " He does not."),
        ("It was done in the U.K.", " A total of 20 took part."),
        ("Light harms birds at night.", "MethodsWe searched two databases."),
        ("We included 5 (25%).", "In conclusion, it works."),
        ("Death was rare.", "A patient recovered."),
    ],
)
def test_ends_behind_abbreviations_and_without_white_space(first: str, second: str) -> None:
    text = first + second
    assert [text[begin:end] for begin, end in split(text)] == [first, second.strip()]


@pytest.mark.parametrize("text", ["We used Node.js and R.", "See www.Example.com for it.", "The e.g.The is odd."])
def test_full_stops_inside_names_are_no_ends(text: str) -> None:
    assert len(split(text)) == 1


def test_a_serotype_belongs_to_its_sentence() -> None:
    text = "Salmonella enterica ser. Typhi grew. It died."
    assert [text[begin:end] for begin, end in split(text)] == ["Salmonella enterica ser. Typhi grew.", "It died."]
