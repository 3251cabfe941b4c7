"""No model.  Django sends the signal post_migrate only to an application that has this module."""
