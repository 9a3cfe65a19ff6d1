"""Plots of tuning and training, as PNG and SVG."""
