// SPDX-License-Identifier: Apache-2.0
// For the caller that is linked with a driver: it takes all functions from it that the oldest has.
#include "linked.h"
#include "oldest_driver.h"

extern "C" {
#define CUDA_FUNCTION(symbol, name, since, parameters) int symbol();
#include "abi/cuda_functions.def"
}

namespace {

struct LinkedCall {
  const char* name;
  int (*function)();
};
const LinkedCall kLinkedCalls[] = {
#define CUDA_FUNCTION(symbol, name, since, parameters) \
  {#symbol, if_always_there<since, &(symbol)>()},
#include "abi/cuda_functions.def"
};

}  // namespace

Any linked_call(const std::string& /*route*/, const std::string& symbol) {
  for (const LinkedCall& call : kLinkedCalls) {
    if (symbol == call.name) return reinterpret_cast<Any>(call.function);
  }
  return nullptr;
}
