"""Run long jobs on many machines; the driver's journal records the results."""
