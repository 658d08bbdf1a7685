// SPDX-License-Identifier: Apache-2.0
// Entries of the library by which the caller of CUDA escapes preloading: all functions that the
// oldest driver has.
#include "library_calls.h"
#include "oldest_driver.h"

extern "C" {
#define CUDA_FUNCTION(symbol, name, since, parameters) Function symbol;
#include "abi/cuda_functions.def"
}

const LibraryCall kLibraryCalls[] = {
#define CUDA_FUNCTION(symbol, name, since, parameters) \
  {#symbol, if_always_there<since, &pass_on<symbol>>()},
#include "abi/cuda_functions.def"
    {nullptr, nullptr}};
