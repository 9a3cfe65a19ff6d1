"""Elements of an XML file, one at a time."""

from pathlib import Path

from mpir.files.corpora.xml import read_elements, text_of


def test_what_is_inside_a_wanted_element_is_a_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text("<all><one>a <one>reply</one></one><other>b</other><one>c</one></all>")
    assert [text_of(element) for element in read_elements(path, ["all"], ["one"])] == ["a reply", "c"]
