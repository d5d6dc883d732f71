"""What type checkers see of the API; __init__.py imports it when it is asked for."""

from weft.api.checked_run import check_run as check_run
from weft.api.expectation import expect as expect
from weft.api.judging import judge as judge
from weft.api.load import IncompleteRunWarning as IncompleteRunWarning
from weft.api.load import load as load
from weft.core.errors import InputError as InputError
from weft.core.errors import MissingError as MissingError
from weft.core.errors import WeftError as WeftError

__version__: str
