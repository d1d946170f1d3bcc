"""Pages in a browser. A package, so that the browser is closed when its last test has run."""
