"""Program to Program: rewrites that keep what a program computes."""
