"""Passes that bring a program into the form that static schedules want: loops, domains, names."""
