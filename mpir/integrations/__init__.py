"""Drop-ins for other libraries. Each module needs its library, so none is imported automatically."""
