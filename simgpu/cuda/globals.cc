// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/globals.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace berth::simgpu {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 40U;

template <class T>
std::optional<T> at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return std::nullopt;
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view part(std::string_view bytes, std::uint64_t offset, std::uint64_t length) {
  return offset > bytes.size() ? std::string_view() : bytes.substr(offset, length);
}

std::optional<Elf64_Shdr> section(std::string_view cubin, const Elf64_Ehdr& header,
                                  std::uint64_t number) {
  if (number >= header.e_shnum) return std::nullopt;
  return at<Elf64_Shdr>(cubin, header.e_shoff + number * header.e_shentsize);
}

std::vector<Global> globals_of_table(std::string_view cubin, const Elf64_Ehdr& header,
                                     const Elf64_Shdr& table) {
  std::vector<Global> found;
  const auto names = section(cubin, header, table.sh_link);
  for (std::uint64_t i = 0; names && i < table.sh_size / sizeof(Elf64_Sym); ++i) {
    const auto symbol = at<Elf64_Sym>(cubin, table.sh_offset + i * sizeof(Elf64_Sym));
    if (!symbol) break;
    const auto home = section(cubin, header, symbol->st_shndx);
    if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || !home || symbol->st_size == 0 ||
        symbol->st_size >= kBytesMax)
      continue;
    const std::string_view name = part(cubin, names->sh_offset + symbol->st_name, cubin.size());
    Global global{.name = std::string(name.substr(0, name.find('\0'))), .bytes = symbol->st_size};
    if (home->sh_type == SHT_PROGBITS)
      global.initial = part(cubin, home->sh_offset + symbol->st_value, symbol->st_size);
    found.push_back(std::move(global));
  }
  return found;
}

std::vector<Global> globals_of_cubin(std::string_view cubin) {
  const auto header = at<Elf64_Ehdr>(cubin, 0);
  for (std::uint64_t i = 0; header && header->e_machine == EM_CUDA && i < header->e_shnum; ++i) {
    const auto table = section(cubin, *header, i);
    if (table && table->sh_type == SHT_SYMTAB) return globals_of_table(cubin, *header, *table);
  }
  return {};
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Of ".b8", ".u32", ".f64": its bytes; 0 if that is no type of a number.
std::uint64_t type_bytes(std::string_view word) {
  const bool is_type = word.size() > 2 && word[0] == '.' &&
                       std::string_view("bsuf").find(word[1]) != std::string_view::npos;
  return is_type ? number_in(word.substr(2)) / 8 : 0;
}

// Of what follows `.global` or `.const`: ".align 4 .b8 name[2][3]".
std::optional<Global> declared(std::string_view words) {
  std::uint64_t bytes = 0;
  while (true) {
    words.remove_prefix(std::min(words.find_first_not_of(kBlanks), words.size()));
    if (words.empty()) return std::nullopt;
    const std::string_view word = words.substr(0, words.find_first_of(kBlanks));
    if (bytes > 0) break;  // The name comes after the type.
    bytes = type_bytes(word);
    words.remove_prefix(word.size());
  }
  const std::string_view name = words.substr(0, words.find_first_of(" \t\r\n["));
  for (std::size_t open = words.find('['); open != std::string_view::npos;
       open = words.find('[', open + 1)) {
    bytes = std::min(bytes, kBytesMax) * std::min(number_in(words.substr(open + 1)), kBytesMax);
  }
  if (name.empty() || bytes == 0 || bytes >= kBytesMax) return std::nullopt;
  return Global{.name = std::string(name), .bytes = bytes, .initial = {}};
}

std::vector<Global> globals_of_ptx(std::string_view text) {
  std::vector<Global> found;
  for (const std::string_view space : {".global", ".const"}) {
    for (std::size_t here = text.find(space); here != std::string_view::npos;
         here = text.find(space, here + 1)) {
      const std::size_t after = here + space.size();
      // In an instruction (ld.global.u32) it has neighbours.
      const bool is_word = (here == 0 || kBlanks.find(text[here - 1]) != std::string_view::npos) &&
                           after < text.size() &&
                           kBlanks.find(text[after]) != std::string_view::npos;
      const std::size_t end = is_word ? text.find_first_of(";=", after) : std::string_view::npos;
      if (end == std::string_view::npos) continue;
      if (auto global = declared(text.substr(after, end - after))) found.push_back(*global);
    }
  }
  return found;
}

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::vector<Global> globals_of(std::string_view image) {
  if (image.starts_with("\x7f"
                        "ELF"))
    return globals_of_cubin(image);
  return globals_of_ptx(image);
}

std::string cubin_with(const std::vector<Global>& globals) {
  std::string symbols(sizeof(Elf64_Sym), '\0');
  std::string names(1, '\0');
  std::uint64_t end = 0;
  for (const Global& global : globals) {
    append(symbols, Elf64_Sym{.st_name = static_cast<Elf64_Word>(names.size()),
                              .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                              .st_other = 0,
                              .st_shndx = 1,
                              .st_value = end,
                              .st_size = global.bytes});
    names += global.name + '\0';
    end += global.bytes;
  }
  const std::uint64_t symbols_at = sizeof(Elf64_Ehdr);
  const std::uint64_t names_at = symbols_at + symbols.size();
  const Elf64_Ehdr header{.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_type = ET_EXEC,
                          .e_machine = EM_CUDA,
                          .e_version = EV_CURRENT,
                          .e_entry = 0,
                          .e_phoff = 0,
                          .e_shoff = names_at + names.size(),
                          .e_flags = 0,
                          .e_ehsize = sizeof(Elf64_Ehdr),
                          .e_phentsize = 0,
                          .e_phnum = 0,
                          .e_shentsize = sizeof(Elf64_Shdr),
                          .e_shnum = 4,
                          .e_shstrndx = 0};
  std::array<Elf64_Shdr, 4> sections{};
  sections[1] = {.sh_type = SHT_NOBITS, .sh_size = end};
  sections[2] = {.sh_type = SHT_SYMTAB,
                 .sh_offset = symbols_at,
                 .sh_size = symbols.size(),
                 .sh_link = 3,
                 .sh_entsize = sizeof(Elf64_Sym)};
  sections[3] = {.sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = names.size()};
  std::string cubin;
  append(cubin, header);
  cubin += symbols + names;
  append(cubin, sections);
  return cubin;
}

}  // namespace berth::simgpu
