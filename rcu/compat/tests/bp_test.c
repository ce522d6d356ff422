// SPDX-License-Identifier: MIT
/* The flavour whose threads register by themselves. */
#include <urcu-bp.h>
#include "flavour.h"
