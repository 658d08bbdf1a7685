// SPDX-License-Identifier: Apache-2.0
#include "trainer/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace berth::trainer {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Error{Errc::kNotFound, path + ": " + std::strerror(errno)};
  struct stat facts{};
  const bool known = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0;
  const auto size = known ? static_cast<std::size_t>(facts.st_size) : 0;
  void* data = known ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  close(file);
  if (data == MAP_FAILED) return Error{Errc::kInvalid, path + ": no file with text in it"};
  return MappedFile({static_cast<const char*>(data), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : text_(std::exchange(other.text_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(text_, other.text_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!text_.empty()) munmap(const_cast<char*>(text_.data()), text_.size());
}

}  // namespace berth::trainer
