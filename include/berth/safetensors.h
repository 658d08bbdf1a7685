// SPDX-License-Identifier: Apache-2.0
// Tensors in files of the safetensors format (https://github.com/huggingface/safetensors): what may
// stand in one, reading without copying, and writing so that a crash leaves the old file or the new
// one. C++17; needs no other header of Berth. Throws nothing; an Outcome says what went wrong.
// docs/checkpoint-files.md tells the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace berth::checkpoint {

/// The types of elements that the format knows, by the names it gives them.
enum class Dtype : std::uint8_t {
  kBool,
  kF4,
  kF6E2M3,
  kF6E3M2,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBf16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

/// What a caller may act on; the message is for a person.
enum class Trouble : std::uint8_t {
  kInvalid,      // The input is wrong and will stay wrong.
  kNotFound,     // There is no such file, tensor or checkpoint.
  kCorrupt,      // What was read is not what was written, or not in this format.
  kFull,         // The disk has no room for it.
  kIo,           // A read or write failed; the message names the file.
  kPermission,   // The system does not let us.
  kConflict,     // Another one has it.
  kExhausted,    // The system gives us no more memory or descriptors.
  kUnavailable,  // Another reason of the system's.
};

struct Failure {
  Trouble trouble = Trouble::kInvalid;
  std::string message;  // Names the things involved and, where there is one, the cure.
};

struct Nothing {};

/// A value, or why there is none. Asking for what is not there ends the program.
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }
  const Failure& failure() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Failure> state_;
};

/// A tensor somewhere in memory, row-major and little-endian as the format has it. It owns nothing.
struct Tensor {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::uint64_t> shape;  // {} is a scalar; a 0 in it makes it empty.
  const void* data = nullptr;
  std::uint64_t bytes = 0;  // Exactly what dtype and shape make.
};

using Metadata = std::map<std::string, std::string>;

/// "BF16", as it stands in files.
const char* name_of(Dtype dtype) noexcept;
/// Of one element: 4 to 64.
unsigned bits_of(Dtype dtype) noexcept;
/// What a tensor of this kind takes; kInvalid where that is no whole number of bytes, or none that
/// 64 bits can hold.
Outcome<std::uint64_t> bytes_of(Dtype dtype, const std::vector<std::uint64_t>& shape);

/// A file that is mapped into memory: nothing is read before it is looked at. Its tensors point
/// into it and are gone with it. To shorten the file meanwhile makes their reader die of
/// SIGBUS; files that are replaced by renaming, as here, are safe. Any thread.
class MappedFile {
 public:
  /// kCorrupt, with what is wrong with it, unless it is all that the format says.
  static Outcome<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&&) noexcept;
  MappedFile& operator=(MappedFile&&) noexcept;
  ~MappedFile();

  /// In the order of their bytes.
  const std::vector<Tensor>& tensors() const noexcept;
  /// Null where there is none of that name.
  const Tensor* find(const std::string& name) const noexcept;
  const Metadata& metadata() const noexcept;

  class Impl;

 private:
  explicit MappedFile(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

/// Writes beside the path, syncs, renames, and syncs the directory: afterwards the file is whole on
/// the disk; when it fails, what was there before still is. Tensors are laid out by the size of
/// their elements, largest first, so that each is aligned.
Outcome<Nothing> write_file(const std::string& path, const std::vector<Tensor>& tensors,
                            const Metadata& metadata = {});

}  // namespace berth::checkpoint
