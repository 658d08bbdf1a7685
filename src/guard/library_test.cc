// SPDX-License-Identifier: Apache-2.0
// The built libberth-guard.so and libberth-audit.so, read as files: what they take from others and
// what they give them.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "guard/preload/stand_in.h"

namespace berth::guard {
namespace {

using Names = std::set<std::string>;

struct Library {
  Names imported;
  Names imported_strongly;
  Names exported;
  Names needed;
};

template <class T>
T at(const std::string& bytes, std::size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof(T), bytes.size());
  if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

Library read_library(const char* path = GUARD_LIBRARY) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  const auto section = [&](std::size_t index) {
    return at<Elf64_Shdr>(bytes, header.e_shoff + index * header.e_shentsize);
  };
  Library library;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr found = section(i);
    const char* strings = bytes.data() + section(found.sh_link).sh_offset;
    for (std::size_t k = 0; found.sh_type == SHT_DYNSYM && k < found.sh_size / sizeof(Elf64_Sym);
         ++k) {
      const auto symbol = at<Elf64_Sym>(bytes, found.sh_offset + k * sizeof(Elf64_Sym));
      const std::string name = strings + symbol.st_name;
      if (name.empty() || symbol.st_shndx == SHN_ABS) continue;
      const bool defined = symbol.st_shndx != SHN_UNDEF;
      (defined ? library.exported : library.imported).insert(name);
      if (!defined && ELF64_ST_BIND(symbol.st_info) != STB_WEAK)
        library.imported_strongly.insert(name);
    }
    for (std::size_t k = 0; found.sh_type == SHT_DYNAMIC && k < found.sh_size / sizeof(Elf64_Dyn);
         ++k) {
      const auto entry = at<Elf64_Dyn>(bytes, found.sh_offset + k * sizeof(Elf64_Dyn));
      if (entry.d_tag == DT_NEEDED) library.needed.insert(strings + entry.d_un.d_val);
    }
  }
  return library;
}

Names listed_imports() {
  std::ifstream in(BERTH_SOURCE_DIR "/src/guard/imports.txt");
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

TEST(Library, TakesNothingButWhatIsListed) {
  const Library library = read_library();
  EXPECT_EQ(library.imported, listed_imports());
  EXPECT_EQ(library.needed, Names());
}

TEST(Library, LoadsWhereWhatItTakesIsMissing) {
  EXPECT_EQ(read_library().imported_strongly, Names());
}

TEST(Library, WhatItTakesIsInTheOldestCLibraryThatIsServed) {
  // The first symbol version of x86-64; later ones are not asked for.
  for (const std::string& name : listed_imports()) {
    EXPECT_NE(::dlvsym(RTLD_DEFAULT, name.c_str(), "GLIBC_2.2.5"), nullptr) << name;
  }
}

TEST(Library, GivesTheFunctionsOfItsTablesAndThreeMore) {
  const Names listed = {
      "dlsym",
      "dlvsym",
      kStandIn,
#define HOOK(symbol) #symbol,
#include "guard/preload/hooks.def"
#define NVML_HOOK(symbol, ours) #symbol,
#include "guard/preload/nvml.def"
#undef NVML_HOOK
  };
  EXPECT_EQ(read_library().exported, listed);
}

// Nobody gives it anything: in its namespace there is no other library.
TEST(AuditLibrary, GivesWhatTheDynamicLinkerAsksForAndTakesNothing) {
  const Library library = read_library(AUDIT_LIBRARY);
  EXPECT_EQ(library.exported, Names({"la_version", "la_objopen", "la_preinit", "la_symbind64"}));
  EXPECT_EQ(library.imported_strongly, Names());
  EXPECT_EQ(library.needed, Names());
}

}  // namespace
}  // namespace berth::guard
