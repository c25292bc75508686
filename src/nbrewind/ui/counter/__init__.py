"""The counter: what front ends with buttons ask for and are given, whatever way their questions come by."""
