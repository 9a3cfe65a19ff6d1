"""Fine-tune perspectives: mixtures of data, losses, and the training loop."""
