// SPDX-License-Identifier: MIT
/* The flavour whose threads tell when they are quiescent. */
#define URCU_API_MAP
#include <urcu/urcu-qsbr.h>
#include "flavour.h"
