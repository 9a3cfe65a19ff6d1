"""Field names in document files: one list for all readers, in the form of `field_keys.field_name`."""

from __future__ import annotations

from itertools import chain

from mpir.files.corpora.bibliography import AUTHORS, KEYWORDS, LANGUAGE, LISTS, PAGES, TYPES, YEAR

PMIDS = ("pmid", "pubmedid", "medlinepmid", "pubmed", "pm")
DOIS = ("doi", "di", "do", "digitalobjectidentifier", "doilink", "doiurl", "articledoi", "electronicresourcenum")
RANKED_ID = "rankeddocument"
"""The name of the ids in tables that mpir wrote."""
COLLECTION_IDS = (RANKED_ID, "corduid", *PMIDS, "id", "_id", "docid", "docno", "documentid", "uid", "pid")
"""Names of a collection's ids, by preference; TREC-COVID's judgements use cord_uid."""
ACCESSION_NUMBERS = ("an", "accessionnumber", "accessionnum", "uniqueidentifier")
LIST_IDS = (
    *("recordid", "key", *ACCESSION_NUMBERS, "eid", "ut", "utuniquewosid"),
    *("uniquewosid", "uniqueid", "lensid", "publicationid", "paperid", *DOIS, "pui", "pmcid", "embaseaccessionid"),
    *("nctid", "nctnumber"),  # of a paper's trial, if the paper has an id of its own
    *("citationkey", "referenceid", "recnumber", "itemid"),
)
"""Names of ids in databases and reference managers."""
IDS = (*COLLECTION_IDS, *LIST_IDS)
TITLES = (
    *("title", "articletitle", "documenttitle", "primarytitle", "papertitle", "titleprimary", "titleenglish"),
    *("englishtitle", "titleen", "studytitle", "brieftitle", "officialtitle", "publishedtitle", "displayname"),
    *("ti", "t1", "tt", "bti", "originalnonenglishtitle", "originaltitle", "vernaculartitle"),
)
BODIES = (
    *("abstract", "text", "contents", "content", "pagecontent", "body", "abstracttext", "abstractnote"),
    *("notesabstract", "articleabstract", "documentabstract", "paperabstract", "abstractenglish", "englishabstract"),
    *("abstracten", "ab", "n2", "oab", "summary", "abstractsummary", "briefsummary", "description"),
    *("detaileddescription", "fulltext", "bodytext", "passage", "sentences", "contexts"),
    *("originalnonenglishabstract", "originalabstract"),
)
TEXTS = frozenset((*TITLES, *BODIES))
BIBLIOGRAPHY: dict[str, tuple[str, ...]] = {
    YEAR: (
        *("year", "publicationyear", "pubyear", "yearpublished", "yearofpublication", "py", "date", "publicationdate"),
        *("pubdate", "publishtime", "publisheddate", "datepublished", "dateofpublication", "coverdate", "issued", "y1"),
        *(
            "da",
            "dp",
            "pd",
            "firstpublicationdate",
            "startdate",
            "firstposted",
            "yr",
            "publishedyear",
            "publishedprint",
        ),
        *("published", "printpublicationdate", "publicationdateprint", "publishedonline", "publicationdateonline"),
        *("electronicpublicationdate", "epubdate", "dep", "ey", "ea", "earlyaccessdate", "earlyaccessyear"),
        *("onlinedate", "sortpubdate"),
    ),
    "journal": (
        *("journal", "journaltitle", "sourcetitle", "publicationtitle", "containertitle", "journalname", "journalbook"),
        *("jt", "jf", "so", "t2", "secondarytitle", "booktitle", "journalfull", "source", "sourcetitleanthologytitle"),
        *("jo", "venue", "journalinfo", "primarylocation", "hostvenue", "fullsource", "bt", "server", "periodical"),
        *("pubtitle", "anthologytitle", "primarylocationsourcedisplayname"),
    ),
    "abbreviation": ("abbreviation", "ta", "ja", "j2", "ji", "journalabbreviation", "abbreviatedsourcetitle"),
    "volume": ("volume", "vol", "vl", "vi", "journalvolume", "volumenumber"),
    "issue": ("issue", "is", "ip", "issuenumber", "journalissue"),
    PAGES: ("pages", "page", "pagination", "pg", "medlinepgn", "pageinfo", "pagerange", "pagenumbers"),
    "firstpage": ("startpage", "pagestart", "firstpage", "beginningpage", "beginpage", "sp", "bp"),
    "lastpage": ("endpage", "pageend", "lastpage", "endingpage", "ep"),
    "articlenumber": ("articlenumber", "artno", "ar", "elocationid", "c7"),
    AUTHORS: (
        *("authors", "author", "fau", "af", "authorfullnames", "authornames", "au", "a1", "authorstring", "authorlist"),
        *("authorships", "creators", "creator", "authorsnames", "authorname", "authorshipsauthordisplayname"),
        "contributors",
    ),
    "groups": ("collectivename", "groupauthors", "groupauthor", "corporateauthors", "corporateauthor"),
    TYPES: (
        *("types", "publicationtype", "publicationtypes", "documenttype", "pubtypes", "pubtype", "pubtypelist"),
        *("articletype", "dt", "pt", "m3", "publicationtypelist", "doctype", "typeofwork", "studytype", "subtype"),
        *("kindofdocument", "doctypes", "articletypes", "type"),
    ),
    "reference_type": ("referencetype", "itemtype", "reftype", "entrytype"),
    LANGUAGE: ("language", "languages", "la", "lang", "languageofpublication", "languageoforiginaldocument", "lg"),
    KEYWORDS: (
        *("keywords", "authorkeywords", "keyword", "de", "keywordlist", "meshterms", "mesh", "mh", "ot", "kw"),
        *("meshheadings", "meshheadinglist", "indexkeywords", "keywordsplus", "manualtags", "automatictags"),
        *(
            "tags",
            "identifierkeywords",
            "subjectterms",
            "ieeeterms",
            "subjects",
            "subject",
            "descriptors",
            "emtreemedicalindexterms",
            "emtreedrugindexterms",
            "medicalterms",
        ),
    ),
    "issn": ("issn", "sn", "isbn", "eissn", "issnprint", "issnl", "issns"),
    "publisher": ("publisher", "pb", "pu", "publishername"),
    "trials": ("trials", "si", "clinicaltrialnumber", "clinicaltrialnumbers"),
}
"""Names of bibliographic fields, by preference."""
LISTED = frozenset(chain.from_iterable(BIBLIOGRAPHY[key] for key in (*LISTS, "groups")))
"""Names of fields with a list, of which a table may have a column for each element."""
REMARKS = ("note", "notes", "n1", "extra", "pui", "c3")
"""Fields with remarks, which may name ids of the paper and of others."""
NOTES = ("lid", "aid", "m3", "ids", "externalids")
"""Further fields that may have a DOI."""
LINKS = (
    "url",
    "link",
    "ur",
    "urls",
    "fulltexturl",
    "sourceurl",
    "studyurl",
    "articleurl",
    "landingpageurl",
    "sourceurls",
    "plink",
    "documenturl",
    "pdflink",
    "externalurl",
)
DATABASES = ("db", "database", "databasename", "databaseprovider", "remotedatabasename", "remotedatabaseprovider")
FURTHER_IDS = (
    *("ids", "externalids", "pmc", "pmcid", "pmcids", "nctnumber", "nctid", "nct", "eid", "ut", "utuniquewosid", "pui"),
    *(
        "uniquewosid",
        "lensid",
        "paperid",
        "corduid",
        "embaseaccessionid",
        "openalex",
        "arxivid",
        "arxiv",
        "c2",
        "s2",
        "s2id",
    ),
    *("semanticscholarid", "corpusid", "cochraneid", "wos", "scopus", "embase", "cord", "cochrane", "lens"),
)
"""Names of ids that a record may have in addition to the one that identifies its document."""
RETRACTIONS = ("retractionin", "rin", "isretracted", "retracted")
"""Names of fields that say that a paper was retracted: by a notice, or by true."""
KNOWN = frozenset((*IDS, *TEXTS))
"""Names of fields that a document itself has: its id, title and body."""
READ = KNOWN.union(*BIBLIOGRAPHY.values(), chain(LINKS, (*NOTES, *REMARKS), DATABASES, FURTHER_IDS, RETRACTIONS))
"""All names that readers use."""
