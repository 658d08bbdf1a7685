// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/shared_memory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace berth::simgpu {
namespace {

// Behind the memory itself: what it is.
struct Label {
  std::uint64_t magic;
  std::uint64_t bytes;
  std::uint32_t device;
};
constexpr std::uint64_t kLabelMagic = 0x315f4d454d4d4953;  // "SIMMEM_1"

}  // namespace

os::UniqueFd open_memory_file(const std::string& path) {
  return os::UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
}
os::UniqueFd open_again(int fd) {
  return open_memory_file("/proc/self/fd/" + std::to_string(fd));
}

// A file beyond the limit of the process would end it.
os::UniqueFd make_memory_file(const char* name, std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes) return {};
  os::UniqueFd file(::memfd_create(name, MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return {};
  return file;
}

std::optional<SharedMemory> SharedMemory::create(std::uint32_t device, std::uint64_t bytes) {
  os::UniqueFd file = make_memory_file("simulated shared memory", bytes + sizeof(Label));
  const Label label{.magic = kLabelMagic, .bytes = bytes, .device = device};
  if (!file || ::pwrite(file.get(), &label, sizeof label, static_cast<off_t>(bytes)) !=
                   static_cast<ssize_t>(sizeof label)) {
    return std::nullopt;
  }
  return SharedMemory(std::move(file), device, bytes);
}

std::optional<SharedMemory> SharedMemory::adopt(int fd) {
  os::UniqueFd file = open_again(fd);
  struct stat found{};
  if (!file || ::fstat(file.get(), &found) != 0 ||
      found.st_size < static_cast<off_t>(sizeof(Label))) {
    return std::nullopt;
  }
  Label label{};
  const auto bytes = static_cast<std::uint64_t>(found.st_size) - sizeof(Label);
  if (::pread(file.get(), &label, sizeof label, static_cast<off_t>(bytes)) !=
          static_cast<ssize_t>(sizeof label) ||
      label.magic != kLabelMagic || label.bytes != bytes || ::flock(file.get(), LOCK_SH) != 0) {
    return std::nullopt;
  }
  return SharedMemory(std::move(file), label.device, bytes);
}

HostMemory SharedMemory::map() const {
  return map_file_memory(file_.get(), 0, bytes_);
}

int SharedMemory::share() const {
  os::UniqueFd shared = open_again(file_.get());
  return shared && ::flock(shared.get(), LOCK_SH) == 0 ? shared.release() : -1;
}

// What is mapped here is no lock.
bool SharedMemory::is_held() const {
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) return true;
  (void)::flock(file_.get(), LOCK_UN);
  return false;
}

}  // namespace berth::simgpu
