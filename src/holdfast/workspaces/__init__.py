"""Where tools work: directories, the files in them, searching them, and the commands that run there."""
