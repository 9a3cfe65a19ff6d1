"""A perspective: how many numbers a sentence holds."""

from mpir import Perspective


class Numbers(Perspective):
    """For questions that ask how much."""

    name = "numbers"

    def score_pairs(self, pairs, **_):
        """Return the count of numbers of each text."""
        return [sum(word[0].isdigit() for word in text.split()) for query, text in pairs]
