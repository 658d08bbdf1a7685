// SPDX-License-Identifier: Apache-2.0
// The head of a safetensors file: eight bytes with its length, and JSON that says which tensors lie
// where in the buffer behind it. The format is specified in the README of
// https://github.com/huggingface/safetensors ("Format"); docs/checkpoint-files.md says what we
// refuse beyond it. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "berth/safetensors.h"
#include "safetensors/dtype.h"

namespace berth::safetensors {

inline constexpr std::size_t kPrefixBytes = 8;
inline constexpr std::uint64_t kHeaderBytesMax = 100'000'000;
inline constexpr std::size_t kDimensionsMax = 64;

struct Entry {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  // In the buffer.
  std::uint64_t end = 0;

  std::uint64_t bytes() const { return end - begin; }
};

struct Header {
  std::vector<Entry> tensors;  // In the order of their bytes.
  checkpoint::Metadata metadata;

  std::uint64_t buffer_bytes() const { return tensors.empty() ? 0 : tensors.back().end; }
};

/// The length of the JSON, from a file's first eight bytes; kCorrupt where a file of this size
/// cannot hold that.
Result<std::uint64_t> json_length(std::string_view prefix, std::uint64_t file_bytes);
/// From the JSON; `buffer_bytes` is what lies behind it in the file, all of which must be spoken
/// for. kCorrupt, naming the tensor or the place.
Result<Header> parse(std::string_view json, std::uint64_t buffer_bytes);
/// Both from the bytes of a whole file.
Result<Header> parse_file(std::string_view file);

/// Puts the tensors in the order in which we write them, and sets `begin` and `end` from dtype and
/// shape. kInvalid, naming the tensor.
Status lay_out(std::vector<Entry>& tensors);
/// All that stands before the buffer, a multiple of eight bytes. kInvalid where a name or metadata
/// cannot stand there, or it is too long.
Result<std::string> head_of(const Header& header);

}  // namespace berth::safetensors
