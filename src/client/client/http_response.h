// SPDX-License-Identifier: Apache-2.0
// Reads one HTTP/1.1 answer from bytes as they come. Pure: no socket, no clock. It knows what
// berthd sends (a length, or chunks) and takes everything else for a broken daemon. Each part is
// bounded. Not shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::client {

struct ResponseHead {
  int status = 0;
  std::string content_type;  // In lower case, without parameters.
  std::string hello;         // The header Berth-Hello; empty if there was none.
  bool keeps_alive = true;   // The daemon will answer further requests here.
};

class ResponseReader {
 public:
  static constexpr std::size_t kHeadMax = std::size_t{16} << 10U;
  static constexpr std::size_t kChunkLineMax = 256;

  explicit ResponseReader(std::size_t body_max) : body_max_(body_max) {}

  /// Takes bytes up to the end of this answer and returns how many those were. kCorrupt if this is
  /// no answer that we understand, kFull if it is larger than `body_max`.
  Result<std::size_t> feed(std::string_view bytes);

  bool has_head() const { return state_ > State::kHead; }
  const ResponseHead& head() const { return head_; }
  bool complete() const { return state_ == State::kComplete; }

  /// What has come of the body and was not taken yet. Of a long answer that is taken piece by
  /// piece, only what is not taken counts against `body_max`.
  std::string take_body();

 private:
  enum class State : std::uint8_t {
    kHead,
    kCounted,    // `left_` bytes of body are to come.
    kChunkSize,  // A line with the size of the next chunk.
    kChunk,      // `left_` bytes of it are to come.
    kChunkEnd,   // The empty line after a chunk.
    kTrailer,    // Lines after the last chunk, up to an empty one.
    kComplete,
  };

  Status step(std::string_view& bytes);
  Status read_head(std::string_view& bytes);
  Status read_field(std::string_view line);
  Status read_body(std::string_view& bytes);
  Status read_line_state(std::string_view& bytes);
  Status begin_chunk(std::string_view line);

  std::size_t body_max_;
  State state_ = State::kHead;
  ResponseHead head_;
  std::string line_;  // What has come of the head, or of the line under way.
  std::string body_;
  std::uint64_t left_ = 0;
  bool has_length_ = false;
  bool chunked_ = false;
  std::size_t trailer_bytes_ = 0;
};

}  // namespace berth::client
