// SPDX-License-Identifier: Apache-2.0
#include "train/token_file.h"

#include <algorithm>

namespace berth::train {
namespace {

constexpr std::size_t kHeader = 256 * sizeof(std::uint32_t);
constexpr std::uint32_t kMagic = 20'240'520;
constexpr std::uint32_t kVersion = 1;

std::uint32_t number_at(std::string_view bytes, std::size_t index) {
  std::uint32_t number = 0;
  for (std::size_t i = 4; i > 0; --i) {
    number = number << 8U | static_cast<unsigned char>(bytes[4 * index + i - 1]);
  }
  return number;
}

void add_number(std::string& bytes, std::uint32_t number) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(number >> shift)));
  }
}

Error corrupt(std::string what) {
  return {Errc::kCorrupt, "a file of tokens " + std::move(what)};
}

}  // namespace

Result<TokenView> TokenView::of_file(std::string_view bytes) {
  if (bytes.size() < 4 || number_at(bytes, 0) != kMagic) return TokenView(bytes, 1);
  if (bytes.size() < kHeader) return corrupt("that ends within its header");
  const std::uint32_t version = number_at(bytes, 1);
  if (version != kVersion) {
    return corrupt("of version " + std::to_string(version) + ", and only 1, of tokens of two " +
                   "bytes, is known here");
  }
  const std::size_t size = 2 * static_cast<std::size_t>(number_at(bytes, 2));
  if (bytes.size() - kHeader != size) {
    return corrupt("that says it has " + std::to_string(size) + " bytes of tokens, and has " +
                   std::to_string(bytes.size() - kHeader));
  }
  return TokenView(bytes.substr(kHeader), 2);
}

std::int64_t TokenView::vocabulary() const {
  std::int64_t most = -1;
  for (std::size_t i = 0; i < size(); ++i) most = std::max(most, (*this)[i]);
  return most + 1;
}

std::string token_file_header(std::uint32_t count) {
  std::string header;
  header.reserve(kHeader);
  for (const std::uint32_t number : {kMagic, kVersion, count}) add_number(header, number);
  header.resize(kHeader, '\0');
  return header;
}

}  // namespace berth::train
