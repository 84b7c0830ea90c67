"""The command line: thin. Each verb imports what it needs when it is called."""
