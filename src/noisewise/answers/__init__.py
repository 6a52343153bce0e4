"""Read releases of kind partition: answers to their questions, and calibrated tests. Works from releases alone."""
