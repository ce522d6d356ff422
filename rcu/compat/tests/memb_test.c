// SPDX-License-Identifier: MIT
/* The default flavour's program. */
#define _LGPL_SOURCE
#include <urcu.h>
#include "flavour.h"
