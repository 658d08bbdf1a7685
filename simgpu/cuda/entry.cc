// SPDX-License-Identifier: Apache-2.0
// The simulated driver's functions for start-up, errors and looking up functions. All may be called
// from any thread, cuGetProcAddress before cuInit.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"
#include "simgpu/world/spec.h"

namespace berth::simgpu {
namespace {

struct Function {
  std::string_view symbol;
  std::string_view name;
  int since;
  void* address;
  void* apart;  // The same at another address, which is no export's.
};

template <auto kFunction>
struct Detached;
template <class... Parameters, CUresult (*kFunction)(Parameters...)>
struct Detached<kFunction> {
  static CUresult call(Parameters... parameters) { return kFunction(parameters...); }
};

const Function kFunctions[] = {
#define CUDA_FUNCTION(symbol, name, since, parameters)        \
  {#symbol, #name, since, reinterpret_cast<void*>(&(symbol)), \
   reinterpret_cast<void*>(&Detached<&(symbol)>::call)},
#define CUDA_UNSUPPORTED(symbol, name, since) CUDA_FUNCTION(symbol, name, since, ())
#include "abi/cuda_functions.def"
};

struct NamedResult {
  CUresult result;
  const char* name;
  const char* text;
};

constexpr NamedResult kResults[] = {
#define CUDA_RESULT(name, value, text) {name, #name, text},
#include "abi/cuda_results.def"
#undef CUDA_RESULT
};

const NamedResult* named(CUresult result) {
  const auto* found = std::ranges::find(kResults, result, &NamedResult::result);
  return found == std::end(kResults) ? nullptr : found;
}

constexpr cuuint64_t kOwnStreams = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

// Of two forms of one version the better one: that of the default stream which the caller has.
int rank(const Function& candidate, cuuint64_t flags) {
  const bool own = candidate.symbol.ends_with("_ptsz");
  if (own && flags != kOwnStreams) return -1;
  return 2 * candidate.since + (own ? 1 : 0);
}

bool are_entry_points_apart() {
  const char* text = std::getenv("BERTH_SIM");
  const Result<WorldSpec> spec = parse_spec(text == nullptr ? "" : text);
  return spec.ok() && spec->entry_points_apart;
}

// The newest function of that name which is not newer than the caller's CUDA version.
CUdriverProcAddressQueryResult look_up(std::string_view name, int version, cuuint64_t flags,
                                       void*& function) {
  const Function* best = nullptr;
  int best_rank = -1;
  bool known = false;
  for (const Function& candidate : kFunctions) {
    if (candidate.name != name) continue;
    known = true;
    if (candidate.since > version || rank(candidate, flags) <= best_rank) continue;
    best = &candidate;
    best_rank = rank(candidate, flags);
  }
  static const bool kApart = are_entry_points_apart();
  function = best == nullptr ? nullptr : kApart ? best->apart : best->address;
  if (best != nullptr) return CU_GET_PROC_ADDRESS_SUCCESS;
  return known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

bool is_valid_query(const char* name, void* const* function, int version, cuuint64_t flags) {
  return name != nullptr && function != nullptr && version <= kDriverVersion && flags <= 2;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned int flags) {
  return flags == 0 ? Driver::initialise() : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult result, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const NamedResult* found = named(result);
  *text = found == nullptr ? nullptr : found->name;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult result, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const NamedResult* found = named(result);
  *text = found == nullptr ? nullptr : found->text;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  if (!is_valid_query(name, function, version, flags)) return CUDA_ERROR_INVALID_VALUE;
  return look_up(name, version, flags, *function) == CU_GET_PROC_ADDRESS_SUCCESS
             ? CUDA_SUCCESS
             : CUDA_ERROR_NOT_FOUND;
}

// Since CUDA 12 a function that is not there is no error: the pointer is null and the status says.
CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  if (!is_valid_query(name, function, version, flags)) return CUDA_ERROR_INVALID_VALUE;
  const CUdriverProcAddressQueryResult found = look_up(name, version, flags, *function);
  if (status != nullptr) *status = found;
  return CUDA_SUCCESS;
}

}  // extern "C"
}  // namespace berth::simgpu
