"""The comm: sidebars and other clients of a kernel, served over Jupyter's own channel (protocol.json)."""
