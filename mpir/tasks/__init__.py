"""Complete tasks: BioASQ Task B Phase A."""
