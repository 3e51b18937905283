"""Settings of all tests."""

import gc

# Netlists, programs and schedules are many small objects that live as long as a test. Looking for garbage among them at
# Python's usual intervals takes up to a quarter of a test's time.
gc.set_threshold(100_000, 20, 20)
