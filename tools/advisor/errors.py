"""The errors that end tools/advise with one line."""


class AdviseError(Exception):
    """An error that is shown as one line in the style of PostgreSQL's programs."""


class NoSample(Exception):
    """The reason why no sample of a table is taken; the report goes on with its statistics."""


class Terminated(BaseException):
    """A signal that ends the program.  Its text is the name of the signal."""
