"""Everything that scores a text: encoders, perspectives and their cache, and bundles of them."""
