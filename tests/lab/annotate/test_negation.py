from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.errors import InputError
from mpir.lab.annotate import NegEx
from mpir.lab.annotate.negation import SHIPPED

SHIPPED_LISTS = NegEx.load(*SHIPPED)
RULES = NegEx(
    [
        ("no", "PREN"),
        ("no acute", "PREN"),
        ("resolved", "PREN"),
        ("resolved", "POST"),
        ("possible", "PREP"),
        ("is excluded", "POST"),
        ("is possible", "POSP"),
        ("history of", "PREH"),
        ("no change in", "PSEU"),
        ("but", "CONJ"),
    ]
)


def judged(text: str, phrase: str = "edema", rules: NegEx = RULES) -> tuple[str, str]:
    begin = text.lower().index(phrase)
    status, trigger = rules.judge(text, [(begin, begin + len(phrase))])[0]
    return status, trigger


@pytest.mark.parametrize(
    ("text", "status", "trigger"),
    [
        ("Edema.", "affirmed", ""),
        ("No left or right EDEMA", "negated", "No"),
        ("Nothing, not even northern edema", "affirmed", ""),  # "no" is a word, not a beginning
        ("possible edema", "possible", "possible"),
        ("no mass but edema", "affirmed", ""),
        ("no mass, possible edema", "possible", "possible"),  # the nearest decides
        ("possible edema is excluded", "negated", "is excluded"),  # negated goes before possible
        ("edema resolved", "negated", "resolved"),
        ("resolved edema", "negated", "resolved"),
        ("edema is possible", "possible", "is possible"),
        ("edema, but mass is excluded", "affirmed", ""),
        ("no change in edema", "affirmed", ""),
        ("history of edema", "historical", "history of"),
        ("no history of edema", "negated", "no"),
        ("history of stroke, no edema", "negated", "no"),
        ("no stroke but history of edema", "historical", "history of"),
        ("edema and no mass", "affirmed", ""),
    ],
)
def test_the_nearest_trigger_on_each_side_decides(text: str, status: str, trigger: str) -> None:
    assert judged(text) == (status, trigger)


def test_a_trigger_that_overlaps_the_mention_does_not_count() -> None:
    assert judged("no acute edema", "acute edema") == ("negated", "no")
    assert judged("no edema", "no edema") == ("affirmed", "")


def test_a_trigger_inside_an_address_does_not_count() -> None:
    assert judged("See https://example.org/no?q for edema", rules=SHIPPED_LISTS) == ("affirmed", "")
    assert judged("The edema: write to not.seen@example.org", rules=SHIPPED_LISTS) == ("affirmed", "")


def test_every_mention_has_its_own_verdict() -> None:
    text = "No edema or mass, but a nodule; old scar resolved."
    spans = [(text.index(word), text.index(word) + len(word)) for word in ("edema", "mass", "nodule", "scar")]
    assert [verdict.status for verdict in RULES.judge(text, spans)] == ["negated", "negated", "affirmed", "negated"]
    text = text.replace(";", ", but")
    spans = [(text.index(word), text.index(word) + len(word)) for word in ("edema", "mass", "nodule", "scar")]
    assert [verdict.status for verdict in RULES.judge(text, spans)] == ["negated", "negated", "affirmed", "negated"]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("There is no pneumothorax or edema.", "negated"),
        ("Cannot exclude edema.", "possible"),
        ("The edema has resolved.", "negated"),
        ("The patient is negative for edema.", "negated"),
        ("No change in edema.", "affirmed"),
        ("This may represent edema.", "possible"),
        ("The lungs are clear of edema.", "negated"),
        ("Edema is not seen.", "negated"),
        ("Edema is within normal limits.", "negated"),
        ("Status post edema.", "historical"),
        ("Edema without effusion.", "affirmed"),
        ("Edema cannot be excluded.", "possible"),
        ("No history of edema.", "negated"),
        ("She no longer has any edema.", "negated"),
        ("The edema is no longer seen.", "negated"),
    ],
)
def test_the_shipped_lists_know_common_speech(text: str, status: str) -> None:
    assert judged(text, rules=SHIPPED_LISTS)[0] == status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("A patient with non-Hodgkin lymphoma developed edema.", "affirmed"),
        ("Non-small cell lung cancer with brain edema.", "affirmed"),
        ("Non-contrast CT shows edema.", "affirmed"),
        ("A non-smoker with edema.", "affirmed"),
        ("Edema in HIV-negative patients.", "affirmed"),
        ("In edema, free T4 was low.", "affirmed"),
        ("No non-productive cough or edema.", "negated"),  # "no" is the nearest that speaks of it
        ("No HIV-negative edema.", "negated"),
        ("Non-edema.", "negated"),
        ("An edema-negative group.", "negated"),
        ("The lungs are edema-free.", "negated"),
        ("The lungs are edema free.", "negated"),
        ("The lungs are free of edema.", "negated"),
        ("Edema and effusion were negative.", "negated"),
    ],
)
def test_a_trigger_that_belongs_to_a_word_speaks_of_that_word_only(text: str, status: str) -> None:
    assert judged(text, rules=SHIPPED_LISTS)[0] == status


ANSWERS = ["none", "No", "absent", "negative", "denied", "not present", "nil"]
ADVERBS = ["", "significant ", "statistically significant ", "clear ", "evidence of a "]
COMPARED = ["difference in", "association with", "effect on", "reduction in", "higher risk of", "change in"]


@given(
    st.sampled_from(ANSWERS),
    st.sampled_from(["{}: {}{}", "{} - {}{}", "{} ({}){}", "{} = {}{}"]),
    st.sampled_from([".", "; rash: yes", ", rash: yes", "  RASH: yes", " Rash: yes", ""]),
)
def test_an_answer_speaks_of_what_stands_before_it(answer: str, form: str, following: str) -> None:
    text = f"Cough: yes, {form.format('edema', answer, following)}"
    assert judged(text, rules=SHIPPED_LISTS) == ("negated", answer)
    assert judged(text, "cough", SHIPPED_LISTS)[0] == "affirmed"
    if "ash" in following:
        assert judged(text, "rash", SHIPPED_LISTS)[0] == "affirmed"


@given(st.sampled_from(["No {}", "Without {}", "She denies {}"]), st.sampled_from(["; {}", "; she had {}", ";{} rose"]))
def test_a_semicolon_ends_the_scope(denial: str, following: str) -> None:
    text = denial.format("rash") + following.format("edema")
    assert [judged(text, word, SHIPPED_LISTS)[0] for word in ("rash", "edema")] == ["negated", "affirmed"]


@given(
    st.sampled_from(["There was no {}{} edema.", "We saw rats without {}{} edema.", "It did not show any {}{} edema."]),
    st.sampled_from(ADVERBS),
    st.sampled_from(COMPARED),
)
def test_no_difference_in_a_finding_denies_no_finding(form: str, adverb: str, compared: str) -> None:
    assert judged(form.format(adverb, compared), rules=SHIPPED_LISTS)[0] == "affirmed"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Edema (-), rash (+).", "negated"),
        ("Rash (-), edema (+).", "affirmed"),
        ("Edema (−), rash.", "negated"),
        ("Edema -ve.", "negated"),
        ("Pt w/o edema.", "negated"),
        ("Ø edema", "negated"),
        ("(-)-Epicatechin in edema", "affirmed"),
        ("FINDINGS: No edema", "negated"),
        ("Complications: none  DIAGNOSIS: edema", "affirmed"),
        ("None had edema.", "negated"),
        ("Edema was not observed.", "negated"),
        ("He is not without edema.", "affirmed"),
        ("No rash, mass or change in edema.", "negated"),  # the comma ends what "no" compares
        ("It did not reduce edema.", "affirmed"),
        ("He denies changes in vision or edema.", "negated"),
        ("No edema or change in mass.", "negated"),
    ],
)
def test_marks_and_turns_of_notes(text: str, status: str) -> None:
    assert judged(text, rules=SHIPPED_LISTS)[0] == status


def test_full_stops_in_a_trigger_stand_for_words() -> None:
    rules = NegEx([("no", "PREN"), ("no ... trace of", "PSEU")])
    assert judged("no trace of edema", rules=rules)[0] == "affirmed"
    assert judged("no very clear or late trace of edema", rules=rules)[0] == "affirmed"
    assert judged("no a b c d e f g trace of edema", rules=rules)[0] == "negated"
    assert judged("no rash, and a trace of edema", rules=rules)[0] == "negated"


def test_a_file_has_the_published_form(tmp_path: Path) -> None:
    path = tmp_path / "triggers.txt"
    path.write_bytes(b"\xef\xbb\xbf# a comment\r\nno\t\t[PREN]\r\nruled out\tPOST\r\n\r\n")
    rules = NegEx.load(path)
    assert rules.triggers == {"no": {"PREN"}, "ruled out": {"POST"}}
    assert rules.fingerprint == NegEx([("Ruled  Out", "POST"), ("no", "PREN")]).fingerprint


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no [PREN]", r"t\.txt:1: .*'no \[PREN\]'"),
        ("no\t[NEGATE]", r"t\.txt:1: .*'no' .*kind 'NEGATE'"),
        ("no*\t[PREN]", r"t\.txt:1: .*'no\*'"),
        ("# nothing", "NegEx: .*no triggers"),
    ],
)
def test_what_is_no_trigger_is_refused(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "t.txt"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        NegEx.load(path)
