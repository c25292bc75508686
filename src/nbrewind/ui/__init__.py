"""What people touch: the magic and the command line, over one session façade."""
