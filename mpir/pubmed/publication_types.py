"""NLM's publication types, by which PubMed and Europe PMC limit a search (https://www.nlm.nih.gov/mesh/pubtypes.html)."""

from __future__ import annotations

PUBLICATION_TYPES = tuple(
    """
Adaptive Clinical Trial
Address
Autobiography
Bibliography
Biography
Case Reports
Classical Article
Clinical Conference
Clinical Study
Clinical Trial
Clinical Trial Protocol
Clinical Trial, Phase I
Clinical Trial, Phase II
Clinical Trial, Phase III
Clinical Trial, Phase IV
Clinical Trial, Veterinary
Collected Work
Comment
Comparative Study
Congress
Consensus Development Conference
Consensus Development Conference, NIH
Controlled Clinical Trial
Corrected and Republished Article
Dataset
Dictionary
Directory
Duplicate Publication
Editorial
Electronic Supplementary Materials
English Abstract
Equivalence Trial
Evaluation Study
Expression of Concern
Festschrift
Government Publication
Guideline
Historical Article
Interactive Tutorial
Interview
Introductory Journal Article
Journal Article
Lecture
Legal Case
Legislation
Letter
Meta-Analysis
Multicenter Study
Network Meta-Analysis
News
Newspaper Article
Observational Study
Observational Study, Veterinary
Patient Education Handout
Periodical Index
Personal Narrative
Portrait
Practice Guideline
Pragmatic Clinical Trial
Preprint
Published Erratum
Randomized Controlled Trial
Randomized Controlled Trial, Veterinary
Research Support, American Recovery and Reinvestment Act
Research Support, N.I.H., Extramural
Research Support, N.I.H., Intramural
Research Support, Non-U.S. Gov't
Research Support, U.S. Gov't, Non-P.H.S.
Research Support, U.S. Gov't, P.H.S.
Retracted Publication
Retraction of Publication
Review
Scientific Integrity Review
Scoping Review
Systematic Review
Technical Report
Twin Study
Validation Study
Video-Audio Media
Webcast
""".strip().splitlines()
)
