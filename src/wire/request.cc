// SPDX-License-Identifier: Apache-2.0
#include "wire/request.h"

#include <type_traits>

#include "base/json_writer.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/json_reader.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

constexpr JsonDocument::Form kBody = {
    .what = "the request body", .manner = Manner::kStrict, .size_max = limits::kBodyMax};

}  // namespace

template <HasFields Body>
std::string encode(const Body& body) {
  const UserNames nobody;
  const Viewer viewer{.user = {}, .names = nobody};
  Extras extras;
  if constexpr (std::is_same_v<Body, RequestBody>) {
    if (body.names_priority) extras.named = "priority";
  }
  JsonWriter out;
  FieldWriter<side::kBody>(out, viewer, extras).object(body);
  return out.take();
}

template <HasFields Body>
Result<Body> decode(std::string_view text) {
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
  if constexpr (std::is_same_v<Body, RequestBody>) body.names_priority = root.has("priority");
  root.done();
  TRY_STATUS(document.status());
  return body;
}

template std::string encode(const Process& body);
template Result<Process> decode(std::string_view text);
template std::string encode(const RequestBody& body);
template Result<RequestBody> decode(std::string_view text);
template std::string encode(const ClaimBody& body);
template Result<ClaimBody> decode(std::string_view text);
template std::string encode(const ReconnectBody& body);
template Result<ReconnectBody> decode(std::string_view text);
template std::string encode(const ExitBody& body);
template Result<ExitBody> decode(std::string_view text);
template std::string encode(const ParkBody& body);
template Result<ParkBody> decode(std::string_view text);
template std::string encode(const ReleaseBody& body);
template Result<ReleaseBody> decode(std::string_view text);
template std::string encode(const ResizeBody& body);
template Result<ResizeBody> decode(std::string_view text);
template std::string encode(const RenewBody& body);
template Result<RenewBody> decode(std::string_view text);
template std::string encode(const ProgressBody& body);
template Result<ProgressBody> decode(std::string_view text);
template std::string encode(const CheckpointBody& body);
template Result<CheckpointBody> decode(std::string_view text);
template std::string encode(const CheckpointedBody& body);
template Result<CheckpointedBody> decode(std::string_view text);
template std::string encode(const PauseBody& body);
template Result<PauseBody> decode(std::string_view text);
template std::string encode(const MoveBody& body);
template Result<MoveBody> decode(std::string_view text);
template std::string encode(const RequeueBody& body);
template Result<RequeueBody> decode(std::string_view text);
template std::string encode(const NoBody& body);
template Result<NoBody> decode(std::string_view text);

}  // namespace berth::wire
