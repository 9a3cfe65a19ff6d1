"""What a checkpoint's files are and say, before a model is opened: where they lie, damage, declarations, identity."""
