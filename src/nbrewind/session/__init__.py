"""One line of turns in one workspace: what every front end programs against."""
