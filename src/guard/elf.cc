// SPDX-License-Identifier: Apache-2.0
#include "guard/elf.h"

#include <link.h>

#include <bit>
#include <cstddef>

#include "guard/text.h"

// It may be missing in a foreign C library; then nothing is found, and the guard stands aside.
extern "C" [[gnu::weak]] int dl_iterate_phdr(int (*)(dl_phdr_info*, std::size_t, void*), void*);
[[gnu::weak]] extern r_debug _r_debug;  // The loader's own list.

namespace berth::guard {
namespace {

/// Where an object lies. Tables that are not as they should be lead nowhere else: what is outside
/// is not read, and is null, as far as it is known where that begins.
class Image {
 public:
  explicit Image(const Object& object) : low_(object.low), high_(object.high) {}

  template <class Thing>
  bool holds(const Thing* first, std::size_t count = 1) const {
    const auto at = std::bit_cast<std::uintptr_t>(first);
    if (first == nullptr || at % alignof(Thing) != 0) return false;
    if (high_ == 0) return true;
    return at >= low_ && at <= high_ && count <= (high_ - at) / sizeof(Thing);
  }
  const char* text(const char* strings, std::uintptr_t offset) const {
    if (strings == nullptr) return nullptr;
    const char* const begin =
        std::bit_cast<const char*>(std::bit_cast<std::uintptr_t>(strings) + offset);
    for (const char* at = begin; holds(at); ++at) {
      if (*at == '\0') return begin;
    }
    return nullptr;
  }

 private:
  std::uintptr_t low_;
  std::uintptr_t high_;
};

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;
  std::uintptr_t name = 0;
  bool has_name = false;
};

// Some loaders turn these entries into addresses, others leave them as they are in the file.
std::uintptr_t address(const Object& object, std::uintptr_t value) {
  return value < object.base ? value + object.base : value;
}

Tables tables_of(const Object& object) {
  Tables tables;
  const Image image(object);
  const auto at = [&](const ElfW(Dyn) & entry) { return address(object, entry.d_un.d_ptr); };
  for (const auto* entry = static_cast<const ElfW(Dyn)*>(object.dynamic);
       image.holds(entry) && entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        tables.symbols = std::bit_cast<const ElfW(Sym)*>(at(*entry));
        break;
      case DT_STRTAB:
        tables.strings = std::bit_cast<const char*>(at(*entry));
        break;
      case DT_GNU_HASH:
        tables.gnu_hash = std::bit_cast<const std::uint32_t*>(at(*entry));
        break;
      case DT_HASH:
        tables.hash = std::bit_cast<const std::uint32_t*>(at(*entry));
        break;
      case DT_SONAME:
        tables.name = entry->d_un.d_val;
        tables.has_name = true;
        break;
      default:
        break;
    }
  }
  return tables;
}

Object object_of(const dl_phdr_info& info) {
  Object object{.base = info.dlpi_addr, .low = UINTPTR_MAX, .high = 0, .dynamic = nullptr};
  for (std::size_t i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    const std::uintptr_t start = object.base + part.p_vaddr;
    if (part.p_type == PT_DYNAMIC) object.dynamic = std::bit_cast<const void*>(start);
    if (part.p_type != PT_LOAD) continue;
    if (start < object.low) object.low = start;
    if (start + part.p_memsz > object.high) object.high = start + part.p_memsz;
  }
  return object;
}

// visit(object) for each loaded one, in the order in which they are searched, until it says true.
template <class Visit>
void for_each_object(Visit visit) {
  if (dl_iterate_phdr == nullptr) return;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        const Object object = object_of(*info);
        return object.found() && (*static_cast<Visit*>(data))(object) ? 1 : 0;
      },
      &visit);
}

bool is_function(const ElfW(Sym) & symbol) {
  return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
         ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
}

std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

bool is_the_function(const Image& image, const Tables& tables, const ElfW(Sym) & symbol,
                     const char* name) {
  if (!is_function(symbol)) return false;
  const char* const its_name = image.text(tables.strings, symbol.st_name);
  return its_name != nullptr && equal(its_name, name);
}

const ElfW(Sym) * find_by_gnu_hash(const Image& image, const Tables& tables, const char* name) {
  const std::uint32_t* const head = tables.gnu_hash;
  if (!image.holds(head, 4)) return nullptr;
  const std::uint32_t buckets = head[0];
  const std::uint32_t first = head[1];
  const std::size_t filter = std::size_t{head[2]} * (sizeof(ElfW(Addr)) / 4);
  if (buckets == 0 || !image.holds(head + 4, filter + buckets)) return nullptr;
  const std::uint32_t* const bucket = head + 4 + filter;
  const std::uint32_t* const chain = bucket + buckets;
  const std::uint32_t hash = gnu_hash_of(name);
  for (std::uint32_t i = bucket[hash % buckets]; i >= first; ++i) {
    if (!image.holds(chain + (i - first)) || !image.holds(tables.symbols + i)) return nullptr;
    const std::uint32_t link = chain[i - first];
    const ElfW(Sym)& symbol = tables.symbols[i];
    if ((link | 1U) == (hash | 1U) && is_the_function(image, tables, symbol, name)) return &symbol;
    if ((link & 1U) != 0) break;
  }
  return nullptr;
}

const ElfW(Sym) * find_one_by_one(const Image& image, const Tables& tables, const char* name) {
  if (!image.holds(tables.hash, 2)) return nullptr;
  for (std::uint32_t i = 0; i < tables.hash[1] && image.holds(tables.symbols + i); ++i) {
    const ElfW(Sym)& symbol = tables.symbols[i];
    if (is_the_function(image, tables, symbol, name)) return &symbol;
  }
  return nullptr;
}

}  // namespace

Object object_of(const link_map& object) {
  return {.base = object.l_addr, .low = 0, .high = 0, .dynamic = object.l_ld};
}

Object object_at(const void* address) {
  Object result;
  for_each_object([&](const Object& object) {
    if (!object.contains(address)) return false;
    result = object;
    return true;
  });
  return result;
}

Object object_named(const char* beginning) {
  Object result;
  for_each_object([&](const Object& object) {
    if (!is_named(object, beginning)) return false;
    result = object;
    return true;
  });
  return result;
}

bool is_named(const Object& object, const char* beginning) {
  const Tables tables = tables_of(object);
  const char* const name =
      tables.has_name ? Image(object).text(tables.strings, tables.name) : nullptr;
  return name != nullptr && starts_with(name, beginning);
}

bool is_of_the_driver(const Object& object) {
  for (const char* name : {"libcuda.so", "libcudadebugger", "libnvidia-", "libnvcuvid"}) {
    if (is_named(object, name)) return true;
  }
  return false;
}

bool needs(const Object& object, const char* beginning) {
  const Tables tables = tables_of(object);
  const Image image(object);
  for (const auto* entry = static_cast<const ElfW(Dyn)*>(object.dynamic);
       image.holds(entry) && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_NEEDED) continue;
    const char* const name = image.text(tables.strings, entry->d_un.d_val);
    if (name != nullptr && starts_with(name, beginning)) return true;
  }
  return false;
}

void* symbol_in(const Object& object, const char* name) {
  const Tables tables = tables_of(object);
  const Image image(object);
  if (tables.symbols == nullptr) return nullptr;
  const ElfW(Sym)* symbol = nullptr;
  if (tables.gnu_hash != nullptr) {
    symbol = find_by_gnu_hash(image, tables, name);
  } else if (tables.hash != nullptr) {
    symbol = find_one_by_one(image, tables, name);
  }
  if (symbol == nullptr) return nullptr;
  const auto* const code = std::bit_cast<const char*>(object.base + symbol->st_value);
  return image.holds(code) ? std::bit_cast<void*>(code) : nullptr;
}

// By the loader's list, since a sanitizer may stand in front of dl_iterate_phdr and call us before
// it has found the real one. No lock is held: what is walked over was there when the program
// started, and is never unloaded. Not every C library shows such a list.
void* symbol_after(const void* dynamic, const char* name) {
  void* result = nullptr;
  bool after = false;
  const auto visit = [&](const Object& object) {
    if (after) result = symbol_in(object, name);
    if (object.dynamic == dynamic) after = true;
    return result != nullptr;
  };
  if (&_r_debug == nullptr || _r_debug.r_map == nullptr) {
    for_each_object(visit);
    return result;
  }
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (object->l_ld != nullptr && visit(object_of(*object))) break;
  }
  return result;
}

}  // namespace berth::guard
