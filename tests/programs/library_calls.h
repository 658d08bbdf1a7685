// SPDX-License-Identifier: Apache-2.0
// Entries of a library that is linked with a driver and calls it: one a function, that passes the
// call on. Nothing of C++'s library: it is loaded into a namespace of its own too.
#pragma once

/// Whatever a function's parameters are, they are in these registers.
using Function = int(long, long, long, long, long, long);

template <Function* kFunction>
int pass_on(long a, long b, long c, long d, long e, long f) {
  return kFunction(a, b, c, d, e, f);
}

/// Of the library; ends with a name that is null.
struct LibraryCall {
  const char* name;
  Function* function;
};
extern const LibraryCall kLibraryCalls[];
