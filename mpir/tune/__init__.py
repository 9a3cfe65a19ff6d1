"""Tune weights: measures over cached columns, alternating Bayesian optimisation, and adoption on held-out evidence."""
