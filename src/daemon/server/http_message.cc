// SPDX-License-Identifier: Apache-2.0
#include "server/http_message.h"

#include <fmt/format.h>

#include <array>

namespace berth::server {
namespace {

struct Reason {
  std::uint16_t status;
  std::string_view words;
};
constexpr std::array kReasons = {
    Reason{200, "OK"},
    Reason{201, "Created"},
    Reason{400, "Bad Request"},
    Reason{403, "Forbidden"},
    Reason{404, "Not Found"},
    Reason{405, "Method Not Allowed"},
    Reason{408, "Request Timeout"},
    Reason{409, "Conflict"},
    Reason{413, "Content Too Large"},
    Reason{422, "Unprocessable Content"},
    Reason{426, "Upgrade Required"},
    Reason{429, "Too Many Requests"},
    Reason{500, "Internal Server Error"},
    Reason{501, "Not Implemented"},
    Reason{503, "Service Unavailable"},
    Reason{507, "Insufficient Storage"},
};

}  // namespace

std::string_view reason_of(std::uint16_t status) {
  for (const Reason& reason : kReasons) {
    if (reason.status == status) return reason.words;
  }
  return {};
}

std::string encode_answer(const HttpAnswer& answer, std::string_view hello, After after) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\n"
      "Content-Type: application/json\r\n"
      "Content-Length: {}\r\n"
      "Cache-Control: no-store\r\n"
      "Berth-Hello: {}\r\n"
      "{}\r\n",
      answer.status, reason_of(answer.status), answer.body.size(), hello,
      after == After::kCloses ? "Connection: close\r\n" : "");
  text += answer.body;
  return text;
}

std::string encode_stream_head(std::string_view hello) {
  return fmt::format(
      "HTTP/1.1 200 OK\r\n"
      "Content-Type: text/event-stream\r\n"
      "Transfer-Encoding: chunked\r\n"
      "Cache-Control: no-store\r\n"
      "Berth-Hello: {}\r\n"
      "\r\n",
      hello);
}

std::string encode_chunk(std::string_view text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

}  // namespace berth::server
