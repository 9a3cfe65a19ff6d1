"""A writer of .tsv files, for `--output ranking.tsv`: a module with `has_form` and `write`."""

HEADER = "query\trank\tdocument\tscore\n"


def has_form(beginning):
    """Whether a file's first bytes are such a table's, which may then be replaced."""
    return beginning.startswith(HEADER.encode())


def write(rankings):
    """Return the file's text for the queries' ids and rankings."""
    rows = [
        f"{query}\t{rank}\t{document.id}\t{document.score:.4f}\n"
        for query, ranking in rankings
        for rank, document in enumerate(ranking, 1)
    ]
    return HEADER + "".join(rows)
