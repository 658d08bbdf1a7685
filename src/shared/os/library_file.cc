// SPDX-License-Identifier: Apache-2.0
#include "os/library_file.h"

#include <elf.h>

#include <cstring>
#include <vector>

#include "os/files.h"

namespace berth::os {
namespace {

template <class T>
std::optional<T> at(std::string_view file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value{};
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

bool is_text_at(std::string_view file, std::uint64_t offset, std::string_view text) {
  return offset < file.size() && file.size() - offset > text.size() &&
         file.substr(offset, text.size()) == text && file[offset + text.size()] == '\0';
}

// Of a table of symbols and the names that belong to it.
bool is_defined_in(std::string_view file, const Elf64_Shdr& table, const Elf64_Shdr& names,
                   std::string_view symbol) {
  for (std::uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
    const auto entry = at<Elf64_Sym>(file, table.sh_offset + i * sizeof(Elf64_Sym));
    if (!entry) return false;
    if (entry->st_shndx != SHN_UNDEF && is_text_at(file, names.sh_offset + entry->st_name, symbol))
      return true;
  }
  return false;
}

// Debian's, Red Hat's, and what is left.
constexpr std::string_view kFolders[] = {"lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64",
                                         "lib"};

std::string with_folder(std::string path, std::string_view folder) {
  for (const std::string_view word : {"${LIB}", "$LIB"}) {
    for (std::size_t found = path.find(word); found != std::string::npos; found = path.find(word))
      path.replace(found, word.size(), folder);
  }
  return path;
}

}  // namespace

bool defines_symbol(std::string_view file, std::string_view symbol) {
  const auto header = at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64) {
    return false;
  }
  const auto section = [&](std::uint64_t i) {
    return at<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr));
  };
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto table = section(i);
    if (!table || table->sh_type != SHT_DYNSYM) continue;
    const auto names = section(table->sh_link);
    if (names && is_defined_in(file, *table, *names, symbol)) return true;
  }
  return false;
}

std::optional<std::string> find_preloaded(const std::string& entry, std::string_view search) {
  std::vector<std::string> candidates;
  if (entry.find('/') != std::string::npos) {
    for (const std::string_view folder : kFolders) candidates.push_back(with_folder(entry, folder));
  } else {
    while (!search.empty()) {
      const std::size_t end = std::min(search.find_first_of(":;"), search.size());
      if (end > 0) candidates.push_back(std::string(search.substr(0, end)) + "/" + entry);
      search.remove_prefix(std::min(end + 1, search.size()));
    }
    for (const std::string_view folder : kFolders) {
      candidates.push_back("/" + std::string(folder) + "/" + entry);
      candidates.push_back("/usr/" + std::string(folder) + "/" + entry);
    }
  }
  for (const std::string& candidate : candidates) {
    if (exists(candidate)) return candidate;
  }
  return std::nullopt;
}

}  // namespace berth::os
