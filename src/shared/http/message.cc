// SPDX-License-Identifier: Apache-2.0
#include "http/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/letters.h"

namespace berth::http {
namespace {

struct Reason {
  std::uint16_t status;
  std::string_view words;
};
constexpr std::array kReasons = {
    Reason{200, "OK"},
    Reason{201, "Created"},
    Reason{202, "Accepted"},
    Reason{400, "Bad Request"},
    Reason{401, "Unauthorized"},
    Reason{403, "Forbidden"},
    Reason{404, "Not Found"},
    Reason{405, "Method Not Allowed"},
    Reason{408, "Request Timeout"},
    Reason{409, "Conflict"},
    Reason{413, "Content Too Large"},
    Reason{415, "Unsupported Media Type"},
    Reason{422, "Unprocessable Content"},
    Reason{426, "Upgrade Required"},
    Reason{429, "Too Many Requests"},
    Reason{500, "Internal Server Error"},
    Reason{501, "Not Implemented"},
    Reason{503, "Service Unavailable"},
    Reason{507, "Insufficient Storage"},
};

constexpr std::string_view kType = "Content-Type";

std::string hello_line(std::string_view hello) {
  return hello.empty() ? std::string() : fmt::format("Berth-Hello: {}\r\n", hello);
}

}  // namespace

std::optional<std::string_view> Request::header(std::string_view name) const {
  const auto found = std::ranges::find_if(
      headers, [&](const Header& one) { return is_same_word(one.first, name); });
  return found == headers.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

std::string_view reason_of(std::uint16_t status) {
  for (const Reason& reason : kReasons) {
    if (reason.status == status) return reason.words;
  }
  return {};
}

std::string encode_answer(const Answer& answer, std::string_view hello, After after) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, reason_of(answer.status));
  const bool says_type =
      std::ranges::any_of(answer.headers, [](const Header& one) { return one.first == kType; });
  if (!answer.body.empty() && !says_type) text += "Content-Type: application/json\r\n";
  text += fmt::format(
      "Content-Length: {}\r\n"
      "Cache-Control: no-store\r\n",
      answer.body.size());
  for (const auto& [name, value] : answer.headers) text += fmt::format("{}: {}\r\n", name, value);
  text += hello_line(hello);
  if (after == After::kCloses) text += "Connection: close\r\n";
  text += "\r\n";
  text += answer.body;
  return text;
}

std::string encode_stream_head(std::string_view hello) {
  return fmt::format(
      "HTTP/1.1 200 OK\r\n"
      "Content-Type: text/event-stream\r\n"
      "Transfer-Encoding: chunked\r\n"
      "Cache-Control: no-store\r\n"
      "X-Accel-Buffering: no\r\n"  // nginx: hand each event on at once.
      "{}"
      "\r\n",
      hello_line(hello));
}

std::string encode_chunk(std::string_view text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

}  // namespace berth::http
