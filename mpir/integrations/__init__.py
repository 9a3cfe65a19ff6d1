"""Drop-ins for the libraries people use. Each module needs its library, and is imported only by those who have it."""
