// SPDX-License-Identifier: Apache-2.0
#include "wire/request.h"

#include <array>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/json_writer.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/json_reader.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

constexpr JsonDocument::Form kBody = {
    .what = "the request body", .manner = Manner::kStrict, .size_max = limits::kBodyMax};

template <HasFields Body>
std::string body_text(const Body& body) {
  const UserNames nobody;
  const Viewer viewer{.user = {}, .names = nobody};
  Extras extras;
  if constexpr (std::is_same_v<Body, RequestBody>) {
    if (body.named.priority) extras.named[0] = "priority";
    if (body.named.share) extras.named[1] = "share";
  }
  JsonWriter out;
  FieldWriter<side::kBody>(out, viewer, extras).object(body);
  return out.take();
}

template <HasFields Body>
Result<AnyBody> read_body(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader root = document.root();
  Body body;
  UserNames nobody;
  FieldReader<side::kBody> reader(nobody);
  reader.require<Body>(root);
  reader.fields(root, body);
  if constexpr (requires { fault_of(body); }) {
    if (const auto fault = fault_of(body)) root.refuse(fault->field, fault->why);
  }
  if constexpr (std::is_same_v<Body, RequestBody>) {
    body.named = {.priority = root.has("priority"), .share = root.has("share")};
  }
  root.done();
  TRY_STATUS(document.status());
  return AnyBody(std::move(body));
}

using Reader = Result<AnyBody> (*)(std::string_view);
template <class... Body>
constexpr std::array<Reader, sizeof...(Body)> readers_of(const std::variant<Body...>* /*all*/) {
  return {read_body<Body>...};
}

}  // namespace

std::string encode(const AnyBody& body) {
  return std::visit([](const auto& one) { return body_text(one); }, body);
}

Result<AnyBody> decode_body(std::size_t index, std::string_view text) {
  static constexpr auto kReaders = readers_of(static_cast<AnyBody*>(nullptr));
  return kReaders.at(index)(text);
}

}  // namespace berth::wire
