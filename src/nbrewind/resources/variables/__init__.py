"""The variables resource: the kernel's namespace as one object graph, captured after turns, put back by rewinds."""
