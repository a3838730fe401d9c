"""Games of rising bids as arrays over all hands, compiled, without torch."""

from .form import form_of

__all__ = ["form_of"]
