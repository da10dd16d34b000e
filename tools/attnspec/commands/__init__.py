"""The commands of the command line, one a module, each imported when it is called."""
