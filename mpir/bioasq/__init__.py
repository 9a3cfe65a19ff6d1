"""BioASQ Task B Phase A: the official measures, the rules of submissions, and how submissions are made."""
