"""Fine-tuning perspectives: mixtures of data, losses, and the training loop."""
