// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ohcadv.h for the files that implement it.
#pragma once

#include "ohcadv.h"

// Programs link to it: in provider.map, too.
#define OHCADV_API extern "C" [[gnu::visibility("default")]]
