// SPDX-License-Identifier: Apache-2.0
#include "os/program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "os/errors.h"
#include "os/unique_fd.h"

namespace berth::os {
namespace {

constexpr int kScriptsMax = 4;  // A script may name a script; the kernel allows no more either.
constexpr std::size_t kHeadersMax = 128;
constexpr std::size_t kEntriesMax = 512;
constexpr std::size_t kNamesMax = std::size_t{64} << 20U;  // Bytes.

constexpr std::uint16_t own_machine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_NONE;
#endif
}

class ElfFile {
 public:
  explicit ElfFile(const UniqueFd& file) : file_(file) {}

  void read(ProgramFile& program);

 private:
  using Kind = ProgramFile::Kind;

  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    T value{};
    const ssize_t got =
        ::pread(file_.get(), static_cast<void*>(&value), sizeof value, static_cast<off_t>(offset));
    return got == static_cast<ssize_t>(sizeof value) ? std::optional(value) : std::nullopt;
  }
  /// A table, or what there is of it.
  template <class T>
  std::vector<T> table_at(std::uint64_t offset, std::size_t count) const {
    std::vector<T> rows(count);
    const ssize_t got = ::pread(file_.get(), static_cast<void*>(rows.data()), count * sizeof(T),
                                static_cast<off_t>(offset));
    rows.resize(got > 0 ? static_cast<std::size_t>(got) / sizeof(T) : 0);
    return rows;
  }
  std::string text_at(std::uint64_t offset) const {
    std::array<char, 256> text{};
    const ssize_t got =
        ::pread(file_.get(), text.data(), text.size() - 1, static_cast<off_t>(offset));
    return got > 0 ? std::string(text.data()) : std::string();
  }
  std::string bytes_at(std::uint64_t offset, std::size_t size) const {
    std::string bytes(size, '\0');
    const ssize_t got = ::pread(file_.get(), bytes.data(), size, static_cast<off_t>(offset));
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  std::uint64_t offset_of(std::uint64_t address) const;
  Kind read_kind(ProgramFile& program);
  void read_names(ProgramFile& program);

  const UniqueFd& file_;
  std::vector<Elf64_Phdr> headers_;
  std::string own_name_;  // As a library.
};

void ElfFile::read(ProgramFile& program) {
  program.kind = read_kind(program);
}

ProgramFile::Kind ElfFile::read_kind(ProgramFile& program) {
  const auto header = at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return Kind::kUnknown;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != own_machine())
    return Kind::kOtherMachine;
  // The kernel starts no file whose headers have another size.
  if (header->e_phentsize == sizeof(Elf64_Phdr)) {
    const std::size_t count = std::min<std::size_t>(header->e_phnum, kHeadersMax);
    headers_ = table_at<Elf64_Phdr>(header->e_phoff, count);
  }
  for (const Elf64_Phdr& part : headers_) {
    if (part.p_type != PT_INTERP) continue;
    read_names(program);
    const bool ours = text_at(part.p_offset).find("/ld-linux") != std::string::npos;
    return ours ? Kind::kDynamic : Kind::kOtherLibrary;
  }
  // The dynamic linker needs none itself: what it starts, it loads as ever.
  read_names(program);
  return own_name_.starts_with("ld-linux") ? Kind::kDynamic : Kind::kStatic;
}

std::uint64_t ElfFile::offset_of(std::uint64_t address) const {
  for (const Elf64_Phdr& part : headers_) {
    if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
        address - part.p_vaddr < part.p_filesz) {
      return part.p_offset + (address - part.p_vaddr);
    }
  }
  return 0;
}

void ElfFile::read_names(ProgramFile& program) {
  std::uint64_t strings = 0;
  std::uint64_t size = 0;
  std::optional<std::uint64_t> own;
  for (const Elf64_Phdr& part : headers_) {
    if (part.p_type != PT_DYNAMIC) continue;
    for (const Elf64_Dyn& entry : table_at<Elf64_Dyn>(part.p_offset, kEntriesMax)) {
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_SONAME) own = entry.d_un.d_val;
      if (entry.d_tag == DT_STRTAB) strings = offset_of(entry.d_un.d_ptr);
      if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
    }
  }
  if (strings == 0) return;
  if (own) own_name_ = text_at(strings + *own);
  // All names that it has to do with; one that it defines itself would do no harm.
  const std::string names = bytes_at(strings, std::min<std::uint64_t>(size, kNamesMax));
  const auto has = [&](std::string_view name) { return names.find(name) != std::string::npos; };
  program.makes_namespaces = has({"\0dlmopen\0", 9});
  program.checks_threads = has({"\0__tsan_init\0", 13});
}

// "#!/usr/bin/env python" names /usr/bin/env. A text that names none is one of the shell's
// (execvp(3)). Empty: it is no script.
std::string interpreter_in(std::string_view head) {
  if (!head.starts_with("#!")) {
    const bool is_text = !head.starts_with("\x7f") && head.find('\0') == std::string_view::npos;
    return is_text ? "/bin/sh" : "";
  }
  head.remove_prefix(2);
  head = head.substr(0, head.find('\n'));
  const std::size_t begin = head.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  head.remove_prefix(begin);
  return std::string(head.substr(0, head.find_first_of(" \t")));
}

bool gains_rights(const UniqueFd& file) {
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return false;
  const bool user = (found.st_mode & S_ISUID) != 0 && found.st_uid != ::getuid();
  const bool group = (found.st_mode & S_ISGID) != 0 && found.st_gid != ::getgid();
  return user || group || ::fgetxattr(file.get(), "security.capability", nullptr, 0) > 0;
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
  const Error missing{Errc::kNotFound, "there is no program '" + name + "'"};
  if (name.empty()) return missing;
  if (name.find('/') != std::string::npos) return name;
  const char* variable = std::getenv("PATH");
  std::string_view path = variable == nullptr ? "/bin:/usr/bin" : variable;
  while (true) {
    const std::size_t end = path.find(':');
    const std::string folder(path.substr(0, end));
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    struct stat found{};
    if (::stat(candidate.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
        ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    if (end == std::string_view::npos) return missing;
    path.remove_prefix(end + 1);
  }
}

Result<FileStamp> stamp_of_program(const std::string& name) {
  TRY(path, find_program(name));
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return system_error("cannot stat " + path, errno);
  // Not the time of the last write, which anybody may set.
  return FileStamp{.device = found.st_dev,
                   .inode = found.st_ino,
                   .size = found.st_size,
                   .changed_ns = found.st_ctim.tv_sec * 1'000'000'000 + found.st_ctim.tv_nsec};
}

Result<ProgramFile> look_at_program(const std::string& name) {
  TRY(path, find_program(name));
  ProgramFile program{.path = path};
  for (int scripts = 0; scripts < kScriptsMax; ++scripts) {
    const UniqueFd file(::open(program.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file) return system_error("cannot read " + program.path, errno);
    std::array<char, 256> head{};
    const ssize_t got = ::pread(file.get(), head.data(), head.size(), 0);
    if (got < 0) return system_error("cannot read " + program.path, errno);
    const std::string interpreter = interpreter_in({head.data(), static_cast<std::size_t>(got)});
    if (interpreter.empty()) {
      program.gains_rights = gains_rights(file);
      ElfFile(file).read(program);
      return program;
    }
    program.path = interpreter;
  }
  return program;
}

}  // namespace berth::os
