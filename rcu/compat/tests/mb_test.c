// SPDX-License-Identifier: MIT
/* The flavour of RCU_MB. */
#define RCU_MB
#include <urcu.h>
#include "flavour.h"
