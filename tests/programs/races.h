// SPDX-License-Identifier: Apache-2.0
// Calls that a thread of the caller makes again and again, in a race with others.
#pragma once

#include "route.h"

/// Allocates until it is refused, frees half, and so on. The stream, which the functions that know
/// none do not look at, is the default one.
void race(Any alloc, Any free, Word rounds, Word bytes);
/// A graph of its own is launched again and again; allocations between need what graphs keep.
void race_graphs(Route& route, Word rounds, Word bytes);
