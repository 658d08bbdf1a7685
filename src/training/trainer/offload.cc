// SPDX-License-Identifier: Apache-2.0
#include "trainer/offload.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "os/errors.h"
#include "os/unique_fd.h"

namespace berth::trainer {
namespace {

// All its blocks are there from the start: a disk that is full later would end the process.
Result<os::UniqueFd> nameless_file(const std::string& folder, std::size_t bytes) {
  std::string path = folder + "/.offloaded-XXXXXX";
  os::UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file) return os::system_error("cannot make a file in " + folder, errno);
  (void)::unlink(path.c_str());
  const int failed = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (failed != 0) return os::system_error("no room for a file in " + folder, failed);
  return file;
}

}  // namespace

Result<at::Tensor> offloaded(const at::Tensor& tensor, const std::string& folder) {
  const std::size_t bytes = tensor.nbytes();
  os::UniqueFd file;
  if (!folder.empty()) {
    TRY(made, nameless_file(folder, bytes));
    file = std::move(made);
  }
  const int flags = file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file.get(), 0);
  if (place == MAP_FAILED) return os::system_error("cannot map memory", errno);
  const at::Tensor away = at::from_blob(
      place, tensor.sizes(), [bytes](void* data) { (void)::munmap(data, bytes); },
      at::TensorOptions().dtype(tensor.scalar_type()));
  const torch::NoGradGuard no_gradients;
  away.copy_(tensor);
  return away;
}

}  // namespace berth::trainer
