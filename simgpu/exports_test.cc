// SPDX-License-Identifier: Apache-2.0
// The simulated libraries export exactly what their lists of functions say.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "os/files.h"
#include "simgpu/world/spec.h"

namespace berth::simgpu {
namespace {

using Names = std::set<std::string>;

template <class T>
T at(const std::string& bytes, std::size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof(T), bytes.size());
  if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// The defined names of the file's dynamic symbol table.
Names exports_of(const std::string& path) {
  const Result<std::string> file = os::read_file(path, std::size_t{64} << 20U);
  EXPECT_TRUE(file.ok());
  const std::string& bytes = *file;
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  Names names;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(bytes, header.e_shoff + i * header.e_shentsize);
    if (section.sh_type != SHT_DYNSYM) continue;
    const auto strings =
        at<Elf64_Shdr>(bytes, header.e_shoff + section.sh_link * std::size_t{header.e_shentsize});
    for (std::size_t symbol = 0; symbol < section.sh_size / sizeof(Elf64_Sym); ++symbol) {
      const auto entry = at<Elf64_Sym>(bytes, section.sh_offset + symbol * sizeof(Elf64_Sym));
      if (entry.st_shndx == SHN_UNDEF || entry.st_name == 0) continue;
      names.insert(bytes.data() + strings.sh_offset + entry.st_name);
    }
  }
  return names;
}

// What had come by that version of CUDA, and two of ours.
Names functions_of_cuda(int version) {
  struct Listed {
    const char* symbol;
    int since;
  };
  constexpr Listed kListed[] = {
#define CUDA_FUNCTION(symbol, name, since, parameters) {#symbol, since},
#define CUDA_UNSUPPORTED(symbol, name, since) {#symbol, since},
#include "abi/cuda_functions.def"
  };
  Names names = {"berthSimulatedContextBytes", "berthSimulatedLoad", "berthSimulatedUsedBytes"};
  for (const Listed& function : kListed) {
    if (function.since <= version) names.insert(function.symbol);
  }
  return names;
}

TEST(Exports, LibcudaHasTheFunctionsThatCameByItsVersionAndTwoMore) {
  const std::string libraries = SIMGPU_LIBRARIES;
  const int usual = WorldSpec{}.cuda;
  EXPECT_EQ(exports_of(libraries + "/libcuda.so.1"), functions_of_cuda(usual));
  EXPECT_EQ(exports_of(libraries + "/libcuda.so"), functions_of_cuda(usual));
  for (const CudaVersion& version : kCudaVersions) {
    if (version.number == usual) continue;
    const std::string folder = libraries + "/cuda-" + std::string(version.text);
    EXPECT_EQ(exports_of(folder + "/libcuda.so.1"), functions_of_cuda(version.number));
  }
}

TEST(Exports, LibnvidiaMlHasTheFunctionsOfItsListAndTwoMore) {
  Names listed = {
#define NVML_FUNCTION(symbol, parameters) #symbol,
#define NVML_UNSUPPORTED(symbol) #symbol,
#include "abi/nvml_functions.def"
  };
  listed.insert({"nvmlErrorString", "berthSimulatedWorld"});
  EXPECT_EQ(exports_of(SIMGPU_LIBRARIES "/libnvidia-ml.so.1"), listed);
  EXPECT_EQ(exports_of(SIMGPU_LIBRARIES "/libnvidia-ml.so"), listed);
}

}  // namespace
}  // namespace berth::simgpu
