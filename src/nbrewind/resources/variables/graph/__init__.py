"""The engine: from live objects to streams and buffers, and back, with every shared reference in its place."""
