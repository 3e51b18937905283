"""Scheduling: dependences, program transforms, cycle-accurate schedules and their validation."""
