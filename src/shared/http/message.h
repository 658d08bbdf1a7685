// SPDX-License-Identifier: Apache-2.0
// An HTTP request as it was parsed, and an answer before it is written. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/guest.h"

namespace berth::http {

/// Name and value.
using Header = std::pair<std::string, std::string>;

struct Request {
  std::string method;
  std::string target;
  std::optional<std::string> hello;  // The Berth-Hello header.
  bool wants_stream = false;         // It accepts text/event-stream.
  bool keep_alive = true;            // The connection stays after the answer.
  bool chunks = true;                // HTTP/1.1: it can read a stream.
  std::vector<Header> headers;       // All of them, as they came.
  std::string body;
  std::optional<wire::Guest> guest;  // Set at the door: the session that asks.

  /// The value of a header, whatever the case of its name; absent: it is not there.
  std::optional<std::string_view> header(std::string_view name) const;
};

struct Answer {
  std::uint16_t status = 200;
  std::string body;  // JSON, unless the headers say another type; empty: there is none.
  std::vector<Header> headers = {};
};

/// "Not Found"; empty for a status that Berth does not use.
std::string_view reason_of(std::uint16_t status);

/// What becomes of the connection.
enum class After : std::uint8_t { kStays, kCloses };

/// Head and body, as they are written. `hello` is the value of the Berth-Hello header; empty: there
/// is none.
std::string encode_answer(const Answer& answer, std::string_view hello, After after);
/// The head of a stream of server-sent events; each event follows as a chunk.
std::string encode_stream_head(std::string_view hello);
std::string encode_chunk(std::string_view text);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace berth::http
