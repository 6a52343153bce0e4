"""Drawings as numbers and words: templates make SVG of them, and the style sheet colours it."""
