"""What people run: the command line, the server, the page that explains a ranking, and tools for agents."""
