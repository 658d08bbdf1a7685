// SPDX-License-Identifier: Apache-2.0
#include "wire/daemon.h"

#include "base/checked.h"
#include "base/json_writer.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/json_reader.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

constexpr JsonDocument::Form kDaemonAnswer = {
    .what = "the daemon's answer", .manner = Manner::kLenient, .size_max = limits::kBodyMax};

}  // namespace

std::string encode_version(const ServerHello& hello) {
  JsonWriter writer;
  writer.begin_object().key("version").text(hello.version).key("api").text(to_text(hello.api));
  writer.key("world").text(hello.world).key("simulated").boolean(hello.simulated);
  writer.key("pid").integer(hello.pid).end_object();
  return writer.take();
}

Result<ServerHello> decode_version(std::string_view text) {
  JsonDocument document(text, kDaemonAnswer);
  ObjectReader reader = document.root();
  ServerHello hello;
  std::string api;
  reader.text("version", hello.version);
  reader.text("api", api);
  reader.text("world", hello.world);
  reader.boolean("simulated", hello.simulated);
  reader.integer("pid", hello.pid);
  const std::optional<ApiVersion> version = parse_api_version(api);
  if (!version) reader.refuse("api", "must be MAJOR.MINOR");
  TRY_STATUS(document.status());
  hello.api = checked(version);
  return hello;
}

std::string encode_daemon(const DaemonView& daemon) {
  const UserNames nobody;
  JsonWriter out;
  FieldWriter<side::kAnswer>(out, {.user = {}, .names = nobody}).object(daemon);
  return out.take();
}

Result<DaemonView> decode_daemon(std::string_view text) {
  JsonDocument document(text, kDaemonAnswer);
  ObjectReader root = document.root();
  DaemonView daemon;
  UserNames names;
  FieldReader<side::kAnswer>(names).object(root, daemon);
  TRY_STATUS(document.status());
  return daemon;
}

}  // namespace berth::wire
