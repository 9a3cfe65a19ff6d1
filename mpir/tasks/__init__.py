"""Whole tasks put together: BioASQ Task B Phase A."""
