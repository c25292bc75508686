"""The IPython edge: loading, cell hooks, settings, and the wiring of everything below."""
