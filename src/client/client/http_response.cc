// SPDX-License-Identifier: Apache-2.0
#include "client/http_response.h"

#include <algorithm>
#include <utility>

#include "base/number.h"

namespace berth::client {
namespace {

Error corrupt(std::string_view what) {
  return {Errc::kCorrupt, "the daemon's answer is not understood: " + std::string(what)};
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return result;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// "HTTP/1.1 200 OK": the status, or 0.
int parse_status_line(std::string_view line) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  if (!line.starts_with(kVersion)) return 0;
  line.remove_prefix(kVersion.size());
  if (line.size() > 3 && line[3] != ' ') return 0;
  const int status = parse_number<int>(line.substr(0, 3)).value_or(0);
  return status >= 200 && status <= 599 ? status : 0;
}

}  // namespace

Result<std::size_t> ResponseReader::feed(std::string_view bytes) {
  const std::size_t offered = bytes.size();
  while (!bytes.empty() && state_ != State::kComplete) TRY_STATUS(step(bytes));
  return offered - bytes.size();
}

std::string ResponseReader::take_body() {
  return std::exchange(body_, {});
}

// Takes at least one byte.
Status ResponseReader::step(std::string_view& bytes) {
  switch (state_) {
    case State::kHead:
      return read_head(bytes);
    case State::kCounted:
    case State::kChunk:
      return read_body(bytes);
    case State::kChunkSize:
    case State::kChunkEnd:
    case State::kTrailer:
      return read_line_state(bytes);
    case State::kComplete:
      break;
  }
  CHECK(false);
  return Unit{};
}

Status ResponseReader::read_head(std::string_view& bytes) {
  // The end of the head may lie across two pieces.
  const std::size_t known = line_.size();
  line_.append(bytes.substr(0, kHeadMax - std::min(known, kHeadMax) + 1));
  const std::size_t end = line_.find("\r\n\r\n", known < 3 ? 0 : known - 3);
  if (end == std::string::npos) {
    if (line_.size() > kHeadMax) return corrupt("its head is too long");
    bytes = {};
    return Unit{};
  }
  bytes.remove_prefix(end + 4 - known);
  const std::string head = std::exchange(line_, {}).substr(0, end + 2);

  std::string_view rest = head;
  const auto next_line = [&rest] {
    const std::size_t line_end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, line_end);
    rest.remove_prefix(line_end + 2);
    return line;
  };
  head_.status = parse_status_line(next_line());
  if (head_.status == 0) return corrupt("it does not begin with HTTP/1.1 and a status");
  while (!rest.empty()) TRY_STATUS(read_field(next_line()));

  if (chunked_ && has_length_) return corrupt("it has a length and chunks");
  if (head_.status == 204)
    left_ = 0;
  else if (!chunked_ && !has_length_)
    return corrupt("it has neither length nor chunks");
  if (left_ > body_max_) return Error{Errc::kFull, "the daemon's answer is too large"};
  state_ = chunked_ ? State::kChunkSize : left_ > 0 ? State::kCounted : State::kComplete;
  return Unit{};
}

Status ResponseReader::read_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0)
    return corrupt("a line of its head is no field");
  const std::string name = lower(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (name == "content-length") {
    const auto length = parse_number<std::uint64_t>(value);
    if (!length || (has_length_ && *length != left_)) {
      return corrupt("its length is no number");
    }
    has_length_ = true;
    left_ = *length;
  } else if (name == "transfer-encoding") {
    if (lower(value) != "chunked") return corrupt("its transfer encoding is unknown");
    chunked_ = true;
  } else if (name == "content-type") {
    head_.content_type = lower(trimmed(value.substr(0, value.find(';'))));
  } else if (name == "connection") {
    if (lower(value) == "close") head_.keeps_alive = false;
  } else if (name == "berth-hello") {
    head_.hello = value;
  }
  return Unit{};
}

Status ResponseReader::read_body(std::string_view& bytes) {
  const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  if (count > body_max_ - std::min(body_max_, body_.size())) {
    return Error{Errc::kFull, "the daemon's answer is too large"};
  }
  body_.append(bytes.substr(0, count));
  bytes.remove_prefix(count);
  left_ -= count;
  if (left_ == 0) state_ = state_ == State::kChunk ? State::kChunkEnd : State::kComplete;
  return Unit{};
}

// Collects a line, and acts on it when it is whole.
Status ResponseReader::read_line_state(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  line_.append(bytes.substr(0, std::min(end, kChunkLineMax + 1)));
  if (line_.size() > kChunkLineMax) return corrupt("a line between its chunks is too long");
  if (end == std::string_view::npos) {
    bytes = {};
    return Unit{};
  }
  bytes.remove_prefix(end + 1);
  if (!line_.ends_with('\r')) return corrupt("a line between its chunks is torn");
  line_.pop_back();
  const std::string line = std::exchange(line_, {});

  if (state_ == State::kChunkSize) return begin_chunk(line);
  if (state_ == State::kChunkEnd) {
    if (!line.empty()) return corrupt("a chunk is longer than it says");
    state_ = State::kChunkSize;
    return Unit{};
  }
  trailer_bytes_ += line.size();
  if (trailer_bytes_ > kHeadMax) return corrupt("its end is too long");
  if (line.empty()) state_ = State::kComplete;
  return Unit{};
}

Status ResponseReader::begin_chunk(std::string_view line) {
  const std::string_view size = trimmed(line.substr(0, line.find(';')));
  const auto bytes = parse_number<std::uint64_t>(size, 16);
  if (size.size() > 8 || !bytes) return corrupt("a chunk has no size");
  left_ = *bytes;
  state_ = left_ > 0 ? State::kChunk : State::kTrailer;
  return Unit{};
}

}  // namespace berth::client
