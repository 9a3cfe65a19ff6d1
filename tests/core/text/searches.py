"""Searches as people write them in each database, with the words that must remain."""

SEARCHES = {
    # PubMed
    '("heart failure"[mh] OR hfref[tiab]) AND sglt2*': "heart failure hfref sglt2",
    '"Heart Failure"[Mesh:NoExp] OR "heart failure"[Title/Abstract:~3]': "Heart Failure",
    "(asthma[ti] NOT (child*[tiab] OR infant[mh])) AND steroid*[tiab]": "asthma steroid",
    "asthma[ti] NOT child[ti] AND steroid[ti]": "asthma steroid",
    "Heart Failure/drug therapy[Majr] AND english[la] AND 2015:2020[dp]": "Heart Failure drug therapy",
    '("2015/01/01"[PDAT] : "3000"[PDAT]) AND Smith J[au] AND covid-19[nm]': "covid-19",
    "HLA-B*57:01[tiab] AND abacavir[nm]": "HLA-B*57:01 abacavir",
    "metformin[tiab] english[la] gout[tiab] AND humans[Filter] AND free full text[sb]": "metformin gout",
    "gout[mh] AND (review[pt] OR meta-analysis[Publication Type]) AND loattrfree full text[Filter]": "gout",
    '("rats"[mh] NOT "humans"[mh]) OR zebrafish[tw]': "rats zebrafish",
    "#1 sepsis[tiab]\n#2 neonat*[tiab]\n#3 #1 NOT #2": "sepsis",
    "uric acid[TIAB] AND Jones A[AU] AND Lancet[TA]": "uric acid",
    "vitamin D[all] AND hasabstract[text] AND (falls[ot] OR fracture*[ot])": "vitamin D falls fracture",
    # Ovid
    "exp Heart Failure/ and (hfref adj3 acute).ti,ab.": "Heart Failure hfref acute",
    "exp *Heart Failure/dt, th and sglt2$.mp. not animals/": "Heart Failure sglt2",
    "1. exp Stroke/\n2. (stroke or cva).ti,ab.\n3. 1 or 2\n4. limit 3 to english language": "Stroke cva",
    "(colo?r adj vision).tw.": "color vision",
    "exp Gout/dt [Drug Therapy] or tophus.ti,ab,kf. [free text]": "Gout tophus",
    "febuxostat.mp. [mp=ti, ab, hw, tn, ot, dm, mf, dv]": "febuxostat",
    "1 exp Migraine/\n2 triptan*.ti,ab.\n3 exp Animals/ not Humans/\n4 (1 and 2) not 3\n5 remove duplicates from 4": (
        "Migraine triptan"
    ),
    '1 hip fracture*.tw.\n2 nail*.tw.\n3 and/1-2\n4 limit 3 to yr="2000 -Current"': "hip fracture nail",
    "exp psoriasis/ use ppez, or exp psoriasis/ use oemezd or psoria$2.ti.": "psoriasis psoria",
    "warfarin.ti,ab. and english.lg. and 2010:2020.(sa_year). and lancet.jn.": "warfarin",
    "delirium.ab. /freq=2 and randomized controlled trial.pt.": "delirium",
    "(burn* adj4 (silver or honey)).ti,ab,kw,kf. not case reports.pt.": "burn silver honey",
    "1     exp Burns/ (12345)\n2     honey.ti,ab. (1,017)\n3     1 or 2 (13,001)\n4     limit 3 to humans (100)": (
        "Burns honey"
    ),
    # Embase.com
    "rosacea:ab,ti NOT ([embase]/lim AND [medline]/lim) AND 'review'/it": "rosacea",
    "'heart failure'/exp OR hfref:ti,ab": "heart failure hfref",
    "'gout'/exp/mj AND [english]/lim AND [2001-2021]/py NOT [medline]/lim": "gout",
    "'allopurinol'/exp/dd_dt,dd_to OR 'urate lower*':ti,ab,kw": "allopurinol urate lower",
    "('knee replacement' NEAR/3 pain):ab,ti AND [humans]/lim AND [article]/lim": "knee replacement pain",
    "'signs and symptoms'/de AND 'lyme disease'/syn AND [1-1-2010]/sd": "signs and symptoms lyme disease",
    "'rosacea'/br OR rosacea:tt AND german:la AND 2015:py": "rosacea",
    # Cochrane Library
    '[mh "heart failure"] AND (sglt2 NEAR/3 inhibitor*)': "heart failure sglt2 inhibitor",
    "#1 MeSH descriptor: [Gout] explode all trees\n#2 (uric NEXT acid):ti,ab,kw\n#3 #1 OR #2": "Gout uric acid",
    '[mh ^Rosacea] OR [mh "Eye Diseases"/DT] OR rosacea:ti,ab,kw (Word variations have been searched)': (
        "Rosacea Eye Diseases"
    ),
    "#1 MeSH descriptor: [Burns] this term only\n#2 honey:ti\n#3 {AND #1-#2} with Publication Year from 2010 to 2020, "
    "in Trials": "Burns honey",
    # Scopus
    'TITLE-ABS-KEY("heart failure" AND sglt2)': "heart failure sglt2",
    'TITLE-ABS-KEY ( gout W/5 diet* ) AND PUBYEAR > 2004 AND ( LIMIT-TO ( DOCTYPE , "ar" ) )': "gout diet",
    "TITLE(gout) AND ABS(cherry) AND NOT KEY(rat) AND LANGUAGE(english) AND AUTH(smith)": "gout cherry",
    'AUTHKEY({knee pain}) AND SRCTITLE(lancet) AND EXCLUDE ( SUBJAREA , "VETE" ) AND PUBYEAR AFT 1999': "knee pain",
    # Web of Science
    'TS=("heart failure" OR hfref)': "heart failure hfref",
    "TI=(gout NEAR/4 cherr*) AND PY=(2001-2021) AND LA=(English) AND DT=(Article OR Review)": "gout cherr",
    "AB=rosacea AND AK=ivermectin NOT AU=Smith AND WC=(Dermatology)\nIndexes=SCI-EXPANDED Timespan=1990-2020": (
        "rosacea ivermectin"
    ),
    "TOPIC: (rosacea AND laser*) AND LANGUAGE: (English)\nRefined by: DOCUMENT TYPES: ( ARTICLE )\nTimespan: All years."
    " Indexes: SCI-EXPANDED, SSCI.": "rosacea laser",
    # EBSCO
    '(MH "Burns") OR TX honey AND (ZY "iran") AND FT Y': "Burns honey",
    '(MH "Heart Failure+") AND TI ( nurs* OR caregiver ) AND LA English': "Heart Failure nurs caregiver",
    'S1 MH "Pressure Ulcer+"\nS2 TI bedsore* OR AB bedsore*\nS3 S1 OR S2': "Pressure Ulcer bedsore",
    '(MM "Delirium") N5 ("night shift") OR SU family visits\nLimiters - Published Date: 20100101-20201231': (
        "Delirium night shift family visits"
    ),
    "TI dementia AND AB (music W3 therap*) AND PT review AND DT 2010-2020": "dementia music therap",
    # ProQuest
    'ti("health literacy") AND ab(diabet*) AND la(english) AND yr(2010-2020)': "health literacy diabet",
    'MESH.EXACT.EXPLODE("Burns") AND TI,AB(honey NEAR/3 dressing) NOT stype("Dissertations")': "Burns honey dressing",
    'noft(rosacea) OR MAINSUBJECT.EXACT("Skin diseases") AND pd(20000101-20201231)': "rosacea Skin diseases",
    'SU.EXACT("Rosacea") AND tiab(laser) AND PEER(yes)': "Rosacea laser",
    # Europe PMC
    'TITLE:"heart failure" AND (ABSTRACT:sglt2 OR KW:gliflozin) AND FIRST_PDATE:[2015-01-01 TO 2020-12-31]': (
        "heart failure sglt2 gliflozin"
    ),
    '(TITLE_ABS:gout) AND PUB_TYPE:review AND OPEN_ACCESS:y AND AUTH:"Smith J" AND SRC:MED': "gout",
    'DISEASE:"Lyme disease" AND HAS_ABSTRACT:y NOT TITLE:dog': "Lyme disease",
    # Lens, LILACS
    'title:("knee pain" OR gonarthrosis) AND abstract:(exercise) AND year_published:[2010 TO 2020]': (
        "knee pain gonarthrosis exercise"
    ),
    'field_of_study:(Dermatology) AND title:(rosacea) AND publication_type:"journal article" AND has_abstract:true': (
        "Dermatology rosacea"
    ),
    'mh:"Chagas disease" OR (tw:(benznidazol*)) AND db:("LILACS") AND la:("es")': "Chagas disease benznidazol",
    # IEEE Xplore
    '("Document Title":electrocardiogram OR "Abstract":ecg) AND "All Metadata":arrhythmia': (
        "electrocardiogram ecg arrhythmia"
    ),
    '"Index Terms":"sleep apnea" AND "Author Keywords":oximetry AND "Publication Year":2020': "sleep apnea oximetry",
    # Dimensions
    'search publications in title_abstract_only for "\\"sleep apnea\\" AND oximetry" where year >= 2015 return '
    "publications[title] limit 50": "sleep apnea oximetry",
    '(tw:(sal OR sodium)) AND (instance:"regional") AND (db:("LILACS" OR "IBECS") AND limit:("humans"))': "sal sodium",
    'mj:("Asthma") AND (fulltext:("1") AND collection:("06-national/BR") AND instance:"lilacsplus")': "Asthma",
    '(asma) AND type_of_study:("guideline") AND pais_assunto:("brazil") AND (year_cluster:[2015 TO 2020])': "asma",
    # lines of PubMed's history
    "((gout) AND (diet)) NOT (child) Filters: Humans, English, from 2010 - 2020": "gout diet",
    'Search: "knee pain"[tiab] AND diet Filters: Review, in the last 5 years Sort by: Most Recent': "knee pain diet",
    "#1 Search: gout Filters: Humans\n#2 Search: diet\n#3 Search: #1 AND #2 Sort by: Publication Date": "gout diet",
    "gout diet Filters applied: Clinical Trial. Clear all": "gout diet",
    # Scopus, without a field
    "{knee pain} AND diet AND SUBJAREA(MEDI)": "knee pain diet",
    "gout AND diet AND NOT DOCTYPE(re)": "gout diet",
    "{knee pain} OR {sore knee}": "knee pain sore knee",
    "gout AND SRCTYPE(j) AND LANGUAGE(english) AND PUBYEAR > 2009": "gout",
    # arXiv
    'ti:"gene finding" AND abs:yeast ANDNOT cat:q-bio.GN': "gene finding yeast",
    "au:doe_j AND all:folding AND submittedDate:[202001010600 TO 202401010600]": "folding",
    "all:protein+AND+ti:%22deep+learning%22": "protein deep learning",
    "cat:cs.LG AND all:docking": "docking",
    # of no particular service
    "gout NOT children": "gout",
    "gout diet NOT infants NOT children": "gout diet",
    "gout AND diet AND NOT children": "gout diet",
    '"knee pain" NOT arthro*': "knee pain",
    '(diabetes OR "high glucose") AND stroke': "diabetes high glucose stroke",
    '"sleep apnea"~5 AND (oximet* OR cpap) NOT (child* OR infant*)': "sleep apnea oximet cpap",
    "asthma NOT (children)": "asthma",
}

QUESTIONS = [
    "Filters: HEPA filters and asthma",
    "role of {alpha} chains in haemoglobin",
    "Is it salt, NOT sugar, that raises blood pressure?",
    "does the cat: a host of toxoplasma, spread it",
    "Which gene is mutated in cystic fibrosis?",
    "What is the OR (odds ratio) of smoking in lung cancer?",
    "Is TNF-alpha and/or IL-6 raised in sepsis (and NOT in SIRS)?",
    "Does [3H]thymidine label S-phase cells, as in [1]?",
    "Effect of 5 mg/kg vs. 10 mg/ kg on weight (p < 0.05*).",
    "Role of HLA-B*57:01 in abacavir hypersensitivity",
    "BRCA1 AND BRCA2 mutations in breast cancer",
    "the exp function of e.g. ab. initio models",
    "sglt2* inhibitors",
    "N2 and W3 waves; [Ca2+] and [ATP] of cells",
    "Is the LDL:HDL ratio or the TG:HDL-C ratio the better marker?",
    "RNA:DNA hybrids and the AST:ALT ratio",
    "the OR for stroke in AF",
    "adjusted OR (1.5) for death after surgery",
    "OR nurses and fatigue",
    "drugs that do NOT (or rarely) cross the placenta",
    'causes of "brain fog" NOT related to sleep',
    "proteins NOT (yet) known in man",
    "which leukaemias, [AML] or [ALL], need transplants",
    "toxicity of [Pt] and [Au] particles in mice",
    "Ti(IV) and La(III) in bone; Ab(1-42) in brain",
    "MH (malignant hyperthermia) susceptibility of swine",
    "IgG:ab ratio of antigen",
    "Topic: which burns heal, and in how many years (2010)?",
    "CYP2C19 *2 allele and 10 mg/d",
    "does all (acute lymphoblastic leukaemia) recur in the ti/ab region",
]
