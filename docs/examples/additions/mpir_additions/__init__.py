"""An example of each addition that a package can make to mpir."""
