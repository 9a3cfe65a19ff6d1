"""Finding weights: measures over cached columns, alternating Bayesian optimisation, and when to adopt what it finds."""
