"""`python -m linnet_helpers.fuzzing` in the folder of the tests."""

import sys

from linnet_helpers.fuzzing.runner import main

sys.exit(main())
