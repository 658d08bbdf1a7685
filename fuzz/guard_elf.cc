// SPDX-License-Identifier: Apache-2.0
// Tables of a library that say anything: the guard reads them inside of the program that has loaded
// it. What it finds lies in the library, and nothing outside of that is read.
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "bytes.h"
#include "fuzz.h"
#include "guard/elf.h"

namespace {

constexpr std::size_t kEntries = 6;
constexpr std::size_t kSizeMax = 4096;

}  // namespace

// The input: whether its hash table is an old one, where the five things are, and all that is
// there.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  berth::fuzz::Bytes input(data, size);
  const bool is_old = (input.number<std::uint8_t>() & 1U) != 0;
  std::vector<ElfW(Dyn)> entries(kEntries);
  const ElfW(Sxword) tags[] = {DT_SYMTAB, DT_STRTAB, is_old ? DT_HASH : DT_GNU_HASH,
                               DT_SONAME, DT_NEEDED, DT_NULL};
  for (std::size_t i = 0; i < kEntries; ++i) {
    entries[i].d_tag = tags[i];
    if (tags[i] != DT_NULL) entries[i].d_un.d_val = input.number<std::uint16_t>();
  }
  const std::string_view rest = input.text(kSizeMax);
  const std::size_t head = kEntries * sizeof(ElfW(Dyn));
  // Of just this size, so that a sanitizer sees what is read behind it.
  std::vector<std::uint64_t> memory((head + rest.size()) / 8);
  const std::size_t bytes = memory.size() * 8;
  auto* const begin = reinterpret_cast<char*>(memory.data());
  std::memcpy(begin, entries.data(), head);
  std::memcpy(begin + head, rest.data(), bytes - head);
  const auto base = reinterpret_cast<std::uintptr_t>(begin);
  const berth::guard::Object object{
      .base = base, .low = base, .high = base + bytes, .dynamic = begin};
  for (const char* name : {"cuInit", "", "dlsym"}) {
    const void* const found = berth::guard::symbol_in(object, name);
    CHECK(found == nullptr || object.contains(found));
  }
  (void)berth::guard::is_of_the_driver(object);
  (void)berth::guard::needs(object, "libcuda");
  return 0;
}
