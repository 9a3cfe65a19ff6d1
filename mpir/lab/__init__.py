"""What researchers run beside the product: training, SIA data, annotation and negation, jobs on a Ray cluster."""
