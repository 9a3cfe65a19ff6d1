"""Values and arithmetic: texts, columns, weights, the blend. Reads no files and runs no models."""
