"""One module per kind of question; each takes its turns and notes its samples."""
