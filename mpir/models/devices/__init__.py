"""Models on devices: batches of tokens become numbers, on one device or in several processes."""
