"""The command lines of the compiler: arguments, files in and out, tables of results."""
