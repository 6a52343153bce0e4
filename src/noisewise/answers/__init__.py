"""What a release of kind partition says: answers to its questions, and calibrated tests. Only releases come in here."""
