"""Read files with located errors, write them atomically, identify them by hash, and keep journals of long jobs."""
