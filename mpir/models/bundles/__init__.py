"""Bundles: folders with trained perspectives, their weights and a card."""
