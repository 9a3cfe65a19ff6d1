"""Cross-encoders that read a whole document once, for outputs of the document and of each sentence."""
