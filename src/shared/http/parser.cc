// SPDX-License-Identifier: Apache-2.0
#include "http/parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string>
#include <utility>

#include "base/check.h"
#include "model/refusal.h"
#include "wire/error.h"

namespace berth::http {
namespace {

namespace beast = boost::beast::http;

Error error_of(const boost::system::error_code& code) {
  if (code == beast::error::header_limit) {
    return {Errc::kFull, "the header is larger than 16 KiB"};
  }
  if (code == beast::error::body_limit) {
    return {Errc::kFull, "the body is larger than 64 KiB"};
  }
  return {Errc::kInvalid, "this is no HTTP request: " + code.message()};
}

}  // namespace

struct Parser::Impl {
  bool has_known_encoding() const;
  std::string twice() const;

  beast::request_parser<beast::string_body> parser;
  std::size_t taken = 0;
  bool header_seen = false;
};

/// Another encoding than this one would leave the body to be taken for the next request.
bool Parser::Impl::has_known_encoding() const {
  const auto [begin, end] = parser.get().equal_range(beast::field::transfer_encoding);
  return std::all_of(begin, end, [](const auto& field) {
    return boost::beast::iequals(field.value(), "chunked");
  });
}

/// The name of a header by which it is decided who comes in, and which stands there more than once,
/// so that two readers could each take another one for it. Empty: there is none.
std::string Parser::Impl::twice() const {
  for (const beast::field field : {beast::field::host, beast::field::origin,
                                   beast::field::authorization, beast::field::content_type}) {
    if (parser.get().count(field) > 1) return std::string(to_string(field));
  }
  return {};
}

Parser::Parser() : impl_(std::make_unique<Impl>()) {
  impl_->parser.header_limit(static_cast<std::uint32_t>(kHeaderMax));
  impl_->parser.body_limit(kBodyMax);
  impl_->parser.eager(true);
}

Parser::~Parser() = default;
Parser::Parser(Parser&&) noexcept = default;
Parser& Parser::operator=(Parser&&) noexcept = default;

Result<std::size_t> Parser::put(std::string_view bytes) {
  boost::system::error_code code;
  const std::size_t taken =
      impl_->parser.put(boost::asio::buffer(bytes.data(), bytes.size()), code);
  if (code && code != beast::error::need_more) return error_of(code);
  if (header_done() && !std::exchange(impl_->header_seen, true)) {
    if (!impl_->has_known_encoding()) {
      return Error{Errc::kUnavailable,
                   "the only Transfer-Encoding here is chunked: send the body as it is"};
    }
    if (const std::string field = impl_->twice(); !field.empty()) {
      return Error{Errc::kInvalid, "the header " + field + " stands there more than once"};
    }
  }
  impl_->taken += taken;
  if (done()) return taken;
  if (taken == 0 && bytes.size() > kChunkLineMax) {
    return Error{Errc::kFull, "a line between the chunks of the body is longer than 16 KiB"};
  }
  if (impl_->taken > kRequestMax) {
    return Error{Errc::kFull, "the body is larger than 128 KiB with what is around its chunks"};
  }
  return taken;
}

std::size_t Parser::taken() const {
  return impl_->taken;
}

bool Parser::header_done() const {
  return impl_->parser.is_header_done();
}

bool Parser::done() const {
  return impl_->parser.is_done();
}

bool Parser::expects_continue() const {
  if (!header_done() || done()) return false;
  const auto found = impl_->parser.get().find(beast::field::expect);
  return found != impl_->parser.get().end() &&
         boost::beast::iequals(found->value(), "100-continue");
}

Request Parser::take() {
  CHECK(done());
  auto message = impl_->parser.release();
  Request request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  if (const auto hello = message.find("Berth-Hello"); hello != message.end()) {
    request.hello = std::string(hello->value());
  }
  const auto accept = message[beast::field::accept];
  request.wants_stream = accept.find("text/event-stream") != accept.npos;
  request.keep_alive = message.keep_alive();
  request.chunks = message.version() >= 11;
  for (const auto& field : message) {
    request.headers.emplace_back(field.name_string(), field.value());
  }
  request.body = std::move(message.body());
  return request;
}

std::string_view code_of(const Error& error) {
  if (error.code == Errc::kFull) return wire::code::kTooLarge;
  if (error.code == Errc::kUnavailable) return to_text(RefusalCode::kNotSupported);
  return wire::code::kBadRequest;
}

}  // namespace berth::http
