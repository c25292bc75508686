"""Going back: what is planned, and one transaction that makes it true."""
