// SPDX-License-Identifier: Apache-2.0
#include "os/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "os/errors.h"
#include "os/unique_fd.h"

namespace berth::os {

Result<Mapping> Mapping::open(const std::string& path) {
  // Without O_NONBLOCK, a named pipe in the place of the file would stop the caller for ever.
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return os::system_error("cannot open " + path, errno);
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return os::system_error("cannot stat " + path, errno);
  if (!S_ISREG(found.st_mode)) return Error{Errc::kCorrupt, path + " is not a file"};
  if (found.st_size == 0) return Error{Errc::kCorrupt, path + " is empty"};
  const auto size = static_cast<std::size_t>(found.st_size);
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) return os::system_error("cannot map " + path, errno);
  return Mapping(static_cast<const char*>(data), size);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  // The system asks for a pointer that can be written through; nothing is.
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace berth::os
