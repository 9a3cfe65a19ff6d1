"""Pictures of tuning and of training, as PNG and SVG."""
