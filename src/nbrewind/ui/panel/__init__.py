"""The panel: the points of a session with buttons, made of ipywidgets, for front ends that have no sidebar."""
