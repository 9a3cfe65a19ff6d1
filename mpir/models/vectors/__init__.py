"""How the states of tokens become one vector: prompts, pooling and further layers, as a model's files declare them."""
