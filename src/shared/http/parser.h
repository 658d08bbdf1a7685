// SPDX-License-Identifier: Apache-2.0
// Takes bytes as they come from a client and makes requests of them, within bounds. The one place
// that knows Beast; no socket is seen here. One parser a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace berth::http {

class Parser {
 public:
  static constexpr std::size_t kHeaderMax = std::size_t{16} << 10U;
  static constexpr std::size_t kBodyMax = std::size_t{64} << 10U;
  /// A line between chunks, with its extensions; all lines after the last one.
  static constexpr std::size_t kChunkLineMax = std::size_t{16} << 10U;
  /// All of it: a body in chunks may come with as much again around them.
  static constexpr std::size_t kRequestMax = kHeaderMax + 2 * kBodyMax;

  Parser();
  ~Parser();
  Parser(Parser&&) noexcept;
  Parser& operator=(Parser&&) noexcept;

  /// How many of these bytes it took; those that it left belong before the next ones. kInvalid: no
  /// HTTP; kFull: header, body or what is around its chunks above the bound; kUnavailable: its body
  /// comes in a way that nobody here reads. Nothing more can be read then.
  Result<std::size_t> put(std::string_view bytes);

  /// Bytes, of which it keeps no more than these.
  std::size_t taken() const;
  bool header_done() const;
  bool done() const;
  /// The client wants to hear «100 Continue» before it sends the body.
  bool expects_continue() const;
  /// Once done().
  Request take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What a client is told that sent what the parser refuses.
std::string_view code_of(const Error& error);

}  // namespace berth::http
