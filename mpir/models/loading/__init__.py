"""Checkpoints as they are opened: configuration, tokenizer, texts that they read, and weights."""
