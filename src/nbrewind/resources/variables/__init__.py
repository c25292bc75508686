"""The variables resource: the kernel's namespace as one object graph, captured after a turn and put back by a rewind."""
