// SPDX-License-Identifier: Apache-2.0
// The library as it is built: what it shows to programs, and what it does to them by being loaded.
#include <cxxabi.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace berth::library {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::string bytes(std::filesystem::file_size(path), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

template <class T>
T at(const std::string& bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size()) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  }
  return value;
}

// The sections of an ELF file.
class Elf {
 public:
  explicit Elf(const std::string& path) : bytes_(content(path)) {
    const auto head = at<Elf64_Ehdr>(bytes_, 0);
    for (std::size_t i = 0; i < head.e_shnum; ++i) {
      sections_.push_back(at<Elf64_Shdr>(bytes_, head.e_shoff + i * sizeof(Elf64_Shdr)));
    }
  }
  std::vector<Elf64_Shdr> of_type(std::uint32_t type) const {
    std::vector<Elf64_Shdr> found;
    std::ranges::copy_if(sections_, std::back_inserter(found),
                         [type](const Elf64_Shdr& section) { return section.sh_type == type; });
    return found;
  }
  // Defined functions and objects that programs can bind to.
  std::set<std::string> exports() const {
    std::set<std::string> names;
    for (const Elf64_Shdr& section : of_type(SHT_DYNSYM)) {
      const std::size_t text = sections_.at(section.sh_link).sh_offset;
      for (std::size_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
        const auto symbol = at<Elf64_Sym>(bytes_, section.sh_offset + i * sizeof(Elf64_Sym));
        const auto type = ELF64_ST_TYPE(symbol.st_info);
        const bool is_ours = symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS;
        if (is_ours && type != STT_SECTION) names.insert(bytes_.data() + text + symbol.st_name);
      }
    }
    return names;
  }
  // The functions that run when it is loaded.
  std::set<std::string> constructors() const {
    std::set<std::string> names;
    for (const Elf64_Shdr& array : of_type(SHT_INIT_ARRAY)) {
      for (const Elf64_Shdr& section : of_type(SHT_RELA)) {
        for (std::size_t i = 0; i < section.sh_size / sizeof(Elf64_Rela); ++i) {
          const auto entry = at<Elf64_Rela>(bytes_, section.sh_offset + i * sizeof(Elf64_Rela));
          const bool is_there =
              entry.r_offset >= array.sh_addr && entry.r_offset < array.sh_addr + array.sh_size;
          if (is_there) names.insert(function_at(static_cast<std::uint64_t>(entry.r_addend)));
        }
      }
    }
    return names;
  }
  std::string soname() const {
    for (const Elf64_Shdr& section : of_type(SHT_DYNAMIC)) {
      const std::size_t text = sections_.at(section.sh_link).sh_offset;
      for (std::size_t i = 0; i < section.sh_size / sizeof(Elf64_Dyn); ++i) {
        const auto entry = at<Elf64_Dyn>(bytes_, section.sh_offset + i * sizeof(Elf64_Dyn));
        if (entry.d_tag == DT_SONAME) return bytes_.data() + text + entry.d_un.d_val;
      }
    }
    return {};
  }

 private:
  std::string function_at(std::uint64_t address) const {
    for (const Elf64_Shdr& section : of_type(SHT_SYMTAB)) {
      const std::size_t text = sections_.at(section.sh_link).sh_offset;
      for (std::size_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
        const auto symbol = at<Elf64_Sym>(bytes_, section.sh_offset + i * sizeof(Elf64_Sym));
        const bool is_it = symbol.st_value == address && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
        if (is_it) return bytes_.data() + text + symbol.st_name;
      }
    }
    return "a function without a name";
  }

  std::string bytes_;
  std::vector<Elf64_Shdr> sections_;
};

// What the public headers declare: each function stands at the beginning of a line.
std::set<std::string> declared_functions() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_SOURCE_DIR "/include/berth")) {
    const std::string text = content(entry.path());
    if (text.find("\nextern \"C\"") == std::string::npos) continue;
    const std::regex declaration(R"(\n[a-z][a-z0-9_ *]*[ *](berth_[a-z_]+)\()");
    for (auto found = std::sregex_iterator(text.begin(), text.end(), declaration);
         found != std::sregex_iterator(); ++found) {
      names.insert((*found)[1]);
    }
  }
  return names;
}

// "berth::checkpoint::Store::save" of the name that the linker has, whatever it takes; of a C
// function the name itself.
std::string plain_name(const std::string& symbol) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  if (demangled == nullptr) return symbol;
  std::string name = demangled;
  std::free(demangled);
  name.resize(std::min(name.find('('), name.size()));
  return name.substr(0, name.find('['));
}

// What checkpoint.h and safetensors.h declare and do not define.
std::set<std::string> of_checkpoint_files() {
  std::set<std::string> names;
  const auto add = [&](const std::string& scope, std::initializer_list<const char*> all) {
    for (const char* name : all) names.insert("berth::checkpoint::" + scope + name);
  };
  add("", {"bits_of", "bytes_of", "load_newest", "name_of", "write_file"});
  add("Loaded::", {"Loaded", "find", "operator=", "passed_over", "path", "slot", "state", "step",
                   "tensors", "~Loaded"});
  add("MappedFile::",
      {"MappedFile", "find", "metadata", "open", "operator=", "tensors", "~MappedFile"});
  add("Store::", {"Store", "open", "operator=", "reports", "reserve", "save", "save_in_background",
                  "wait", "~Store"});
  return names;
}

TEST(Library, ShowsWhatItsHeadersDeclareAndNothingElse) {
  std::set<std::string> declared = declared_functions();
  EXPECT_TRUE(declared.contains("berth_attach"));
  EXPECT_TRUE(declared.contains("berth_vram_manager_step"));
  declared.merge(of_checkpoint_files());
  std::set<std::string> shown;
  for (const std::string& symbol : Elf(BERTH_LIBRARY).exports()) shown.insert(plain_name(symbol));
  EXPECT_EQ(shown, declared);
}

TEST(Library, HasTheNameAndTheVersionOfItsInterface) {
  EXPECT_EQ(Elf(BERTH_LIBRARY).soname(), "libberth.so.1");
  EXPECT_NE(content(BERTH_LIBRARY).find("BERTH_1"), std::string::npos);
}

// The compiler's own are there: one that does nothing, and one that sees what the processor can.
TEST(Library, RunsNothingWhenItIsLoaded) {
  if (BERTH_SANITIZED) GTEST_SKIP() << "a sanitizer's own constructor is there";
  std::set<std::string> ours = Elf(BERTH_LIBRARY).constructors();
  EXPECT_EQ(ours.erase("frame_dummy"), 1U) << "they were not found";
  ours.erase("__cpu_indicator_init");
  EXPECT_THAT(ours, ::testing::IsEmpty());
}

}  // namespace
}  // namespace berth::library
