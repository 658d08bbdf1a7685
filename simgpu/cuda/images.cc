// SPDX-License-Identifier: Apache-2.0
// The simulated driver's modules and libraries, and the limits of contexts: what they take of the
// device, and the variables of code, which is never run. Any thread with a current context may call
// these; without one a library can be loaded, and takes nothing.
#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "os/mapping.h"
#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

constexpr unsigned char kWrapper[] = {0xb1, 0x43, 0x62, 0x46};
constexpr unsigned char kFatBinary[] = {0x50, 0xed, 0x55, 0xba};
struct FatBinary {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;
};
struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* image;
};

template <class Header>
Header header_of(const void* image) {
  Header header{};
  std::memcpy(&header, image, sizeof header);
  return header;
}

// Never beyond the first byte that differs: a text may be shorter.
bool begins_with(const void* image, const unsigned char (&magic)[4]) {
  const auto* bytes = static_cast<const unsigned char*>(image);
  return std::equal(std::begin(magic), std::end(magic), bytes);
}

// Of a cubin, a fat binary, or a text of PTX; 0 for what is none of these.
std::uint64_t image_bytes(const void* image) {
  constexpr unsigned char kElf[] = {0x7f, 'E', 'L', 'F'};
  if (begins_with(image, kWrapper)) {
    image = header_of<Wrapper>(image).image;
    if (image == nullptr || !begins_with(image, kFatBinary)) return 0;
  }
  if (begins_with(image, kFatBinary)) {
    const auto header = header_of<FatBinary>(image);
    return header.header_bytes + header.bytes;
  }
  if (begins_with(image, kElf)) {
    const auto header = header_of<Elf64_Ehdr>(image);
    return header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
  }
  const auto* text = static_cast<const char*>(image);
  const bool readable = text[0] == '.' || text[0] == '/' || text[0] == '\n';
  return readable ? std::strlen(text) : 0;
}

// Of a fat binary only the size is known: what lies in it is compressed.
Driver::Code code_in(const void* image) {
  const std::uint64_t bytes = image_bytes(image);
  if (begins_with(image, kWrapper) || begins_with(image, kFatBinary)) return {.bytes = bytes};
  return {.bytes = bytes, .globals = globals_of({static_cast<const char*>(image), bytes})};
}

template <class Handle>
CUresult load(Handle* handle, const Driver::Code& code, bool library) {
  if (code.bytes == 0) return CUDA_ERROR_INVALID_IMAGE;
  return with_driver([&](Driver& driver) {
    Context* context = nullptr;
    const CUresult missing = driver.current(context);
    if (missing != CUDA_SUCCESS && !library) return missing;
    std::uint64_t made = 0;
    const CUresult result = driver.load_image(context, code, library, made);
    if (result == CUDA_SUCCESS) *handle = std::bit_cast<Handle>(made);
    return result;
  });
}

template <class Handle>
CUresult load_data(Handle* handle, const void* image, bool library) {
  if (handle == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return load(handle, code_in(image), library);
}

template <class Handle>
CUresult load_file(Handle* handle, const char* path, bool library) {
  if (handle == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Result<os::Mapping> file = os::Mapping::open(path);
  if (!file.ok()) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string_view bytes = file->bytes();
  return load(handle, {.bytes = bytes.size(), .globals = globals_of(bytes)}, library);
}

// Each variable begins where any type may.
std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

std::uint64_t blocks_for(std::uint64_t bytes) {
  return bytes / kBlockBytes + (bytes % kBlockBytes != 0 ? 1 : 0);
}

// A stack is for each thread that the device can hold at once.
constexpr std::array<std::uint64_t, 3> kUnits = {2048, 1, 1};
constexpr std::size_t kLimitMax = std::size_t{1} << 40U;

}  // namespace

CUresult Driver::load_image(const Context* context, const Code& code, bool library,
                            std::uint64_t& handle) {
  std::uint64_t global_bytes = 0;
  for (const Global& global : code.globals) global_bytes += aligned(global.bytes);
  Image image{.device = context == nullptr ? 0 : context->device,
              .blocks = context == nullptr ? 0 : blocks_for(code.bytes + global_bytes),
              .owner = context,
              .library = library};
  if (global_bytes > 0) {
    image.addresses = map_host_memory(global_bytes, Access::kNone);
    image.memory = map_host_memory(global_bytes, Access::kReadWrite);
    if (!image.addresses || !image.memory) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  for (const Global& global : code.globals) {
    (void)global.initial.copy(reinterpret_cast<char*>(image.memory.get()) + image.bytes,
                              global.bytes);
    image.globals.emplace(global.name, Image::Place{image.bytes, global.bytes});
    image.bytes += aligned(global.bytes);
  }
  if (image.blocks > 0 && !process_slot_.charge(image.device, image.blocks))
    return CUDA_ERROR_OUT_OF_MEMORY;
  handle = last_image_ += 16;
  images_.emplace(handle, std::move(image));
  return CUDA_SUCCESS;
}

std::optional<Heap::Range> Driver::global(std::uint64_t handle, const std::string& name) const {
  const auto image = images_.find(handle);
  if (image == images_.end()) return std::nullopt;
  const auto found = image->second.globals.find(name);
  if (found == image->second.globals.end()) return std::nullopt;
  return Heap::Range{image->second.first() + found->second.at, found->second.bytes};
}

std::byte* Driver::global_memory(DevicePointer pointer, std::uint64_t bytes) {
  for (const auto& [handle, image] : images_) {
    if (image.holds(pointer, bytes)) return image.memory.get() + (pointer - image.first());
  }
  return nullptr;
}

CUresult Driver::unload_image(std::uint64_t handle, bool library) {
  const auto found = images_.find(handle);
  if (found == images_.end() || found->second.library != library) return CUDA_ERROR_INVALID_HANDLE;
  give_back(found->second.device, found->second.blocks);
  images_.erase(found);
  return CUDA_SUCCESS;
}

// Of a library only what lies there goes with a context.
std::uint64_t Driver::drop_images(const Context& context) {
  std::uint64_t blocks = 0;
  for (auto& [handle, image] : images_) {
    if (image.owner == &context) blocks += std::exchange(image.blocks, 0);
  }
  std::erase_if(images_, [&](const auto& image) {
    return image.second.owner == &context && !image.second.library;
  });
  return blocks;
}

CUresult Driver::set_limit(Context& context, CUlimit limit, std::size_t value) {
  std::array<std::size_t, 3> limits = context.limits;
  if (limit >= limits.size()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  if (value > kLimitMax) return CUDA_ERROR_INVALID_VALUE;
  limits[limit] = value;
  std::uint64_t blocks = 0;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const std::uint64_t usual = blocks_for(Context::kLimits[i] * kUnits[i]);
    blocks += std::max(usual, blocks_for(limits[i] * kUnits[i])) - usual;
  }
  if (blocks > context.limit_blocks &&
      !process_slot_.charge(context.device, blocks - context.limit_blocks)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (blocks < context.limit_blocks) give_back(context.device, context.limit_blocks - blocks);
  context.limits = limits;
  context.limit_blocks = blocks;
  return CUDA_SUCCESS;
}

extern "C" {

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return load_file(module, path, false);
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return load_data(module, image, false);
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int /*count*/,
                            CUjit_option* /*options*/, void** /*values*/) {
  return load_data(module, image, false);
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load_data(module, image, false);
}
CUresult cuModuleUnload(CUmodule module) {
  return with_context([&](Driver& driver, Context&) {
    return driver.unload_image(std::bit_cast<std::uint64_t>(module), false);
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* pointer, std::size_t* bytes, CUmodule module,
                              const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    const auto handle = std::bit_cast<std::uint64_t>(module);
    if (!driver.has_image(handle)) return CUDA_ERROR_INVALID_HANDLE;
    const std::optional<Heap::Range> found = driver.global(handle, name);
    if (!found) return CUDA_ERROR_NOT_FOUND;
    if (pointer != nullptr) *pointer = found->at;
    if (bytes != nullptr) *bytes = found->bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* /*jit_options*/,
                           void** /*jit_values*/, unsigned int /*jit_count*/,
                           CUlibraryOption* /*options*/, void** /*values*/,
                           unsigned int /*count*/) {
  return load_data(library, image, true);
}
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* /*jit_options*/,
                               void** /*jit_values*/, unsigned int /*jit_count*/,
                               CUlibraryOption* /*options*/, void** /*values*/,
                               unsigned int /*count*/) {
  return load_file(library, path, true);
}
CUresult cuLibraryUnload(CUlibrary library) {
  return with_driver([&](Driver& driver) {
    return driver.unload_image(std::bit_cast<std::uint64_t>(library), true);
  });
}

CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) {
  return with_context(
      [&](Driver& driver, Context& context) { return driver.set_limit(context, limit, value); });
}
CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver&, Context& context) {
    if (limit >= context.limits.size()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = context.limits[limit];
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace berth::simgpu
