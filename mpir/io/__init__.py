"""Files: read with located errors, written atomically, identified by their hash; the journal of a long job."""
