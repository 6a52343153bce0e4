"""Pure algorithms: arrays in, arrays out. Nothing here knows what a release is."""
