"""Pure algorithms of these methods: arrays in, arrays out."""
