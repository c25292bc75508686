"""What a cell does to files, seen before it happens: audit hook and wraps, turn journal, attribution, outputs."""
