// SPDX-License-Identifier: MIT
/* The flavour of RCU_SIGNAL. */
#define RCU_SIGNAL
#include <urcu.h>
#include "flavour.h"
