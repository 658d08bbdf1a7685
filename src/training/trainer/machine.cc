// SPDX-License-Identifier: Apache-2.0
#include "trainer/machine.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <thread>

#include "base/result.h"
#include "os/files.h"
#include "trainer/libtorch.h"

namespace berth::trainer {
namespace {

bool is_loaded(const char* function) {
  return dlsym(RTLD_DEFAULT, function) != nullptr;
}

// Debian's libtorch takes whatever libblas.so.3 the machine has been given, and that is the
// reference implementation where no other was installed.
void look_at_blas(train::Machine& machine) {
  constexpr std::array<const char*, 4> kFast = {"openblas_get_config", "mkl_get_version",
                                                "bli_info_get_version_str", "MKL_Get_Version"};
  void* const product = dlsym(RTLD_DEFAULT, "sgemm_");
  machine.has_fast_blas = product == nullptr || std::ranges::any_of(kFast, is_loaded);
  Dl_info found{};
  if (product != nullptr && dladdr(product, &found) != 0 && found.dli_fname != nullptr) {
    machine.blas = found.dli_fname;
  }
}

// As the kernel names them. Of another architecture nothing is known to be slow.
bool has_16_bit_units() {
  constexpr std::size_t kMax = std::size_t{4} << 20U;
  const Result<std::string> cpus = os::read_file("/proc/cpuinfo", kMax);
  if (!cpus.ok() || cpus->find("\nflags") == std::string::npos) return true;
  return cpus->find(" avx512_bf16") != std::string::npos ||
         cpus->find(" amx_bf16") != std::string::npos;
}

}  // namespace

train::Machine this_machine() {
  train::Machine machine{.cores = std::max(1U, std::thread::hardware_concurrency()),
                         .has_16_bit_units = has_16_bit_units()};
  look_at_blas(machine);
  return machine;
}

void set_threads(std::uint32_t wanted) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  at::set_num_threads(static_cast<int>(wanted == 0 ? cores : wanted));
}

}  // namespace berth::trainer
