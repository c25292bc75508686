"""The board: what a front end shows of a session all the time, as one value that is cheap to make after each turn."""
