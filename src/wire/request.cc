// SPDX-License-Identifier: Apache-2.0
#include "wire/request.h"

#include <cstdint>
#include <variant>

#include "base/json_writer.h"
#include "wire/checkpoint.h"
#include "wire/fields.h"
#include "wire/json_reader.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

constexpr JsonDocument::Form kBody = {
    .what = "the request body", .manner = Manner::kStrict, .size_max = limits::kBodyMax};
// Lists in a request: a coordinator's own bounds are lower, and its messages better.
constexpr std::size_t kListMax = 256;
constexpr Duration kShortest = milliseconds(1);
Process read_process(ObjectReader& reader) {
  reader.require("pid");
  reader.require("start_ticks");
  Process process;
  if (const auto pid = reader.number("pid", {1, kPidMax})) {
    process.pid = static_cast<std::int32_t>(*pid);
  }
  process.start_ticks = reader.number("start_ticks", {0, kMax64}).value_or(0);
  return process;
}

// 0, which it is for all but what was requeued, is not said.
void write_restarts(JsonWriter& writer, std::uint32_t restarts) {
  if (restarts > 0) writer.key("restarts").number(restarts);
}

std::uint32_t read_restarts(ObjectReader& reader) {
  return static_cast<std::uint32_t>(reader.number("restarts", {0, kMax32}).value_or(0));
}

void write_process(JsonWriter& writer, Process process) {
  writer.begin_object().key("pid").integer(process.pid);
  writer.key("start_ticks").number(process.start_ticks).end_object();
}

std::vector<DeviceName> read_devices(ObjectReader& reader) {
  std::vector<DeviceName> devices;
  for (const auto& name : reader.numbers_or_texts("devices", kListMax)) {
    if (const auto* index = std::get_if<std::uint64_t>(&name)) {
      if (*index > kMax32) reader.refuse("devices", "has an index that no device can have");
      devices.emplace_back(static_cast<std::uint32_t>(*index));
    } else if (const auto uuid = parse_device_id(std::get<std::string>(name))) {
      devices.emplace_back(*uuid);
    } else {
      reader.refuse("devices", "must hold index numbers, or UUIDs as nvidia-smi -L prints them");
    }
  }
  return devices;
}

void write_devices(JsonWriter& writer, const std::vector<DeviceName>& devices) {
  writer.key("devices").begin_array();
  for (const DeviceName& name : devices) {
    if (const auto* index = std::get_if<std::uint32_t>(&name)) {
      writer.number(*index);
    } else {
      writer.text(to_text(std::get<DeviceId>(name)));
    }
  }
  writer.end_array();
}

void write_text(JsonWriter& writer, std::string_view field, std::string_view value) {
  if (!value.empty()) writer.key(field).text(value);
}

void write_time(JsonWriter& writer, std::string_view field, std::optional<Duration> value) {
  if (value) writer.key(field).milliseconds(value);
}

void write_who(JsonWriter& writer, const Request& request) {
  write_text(writer, "name", request.name);
  write_text(writer, "session", request.session);
  write_text(writer, "command", request.command);
  if (request.labels.empty()) return;
  writer.key("labels").begin_object();
  for (const auto& [key, value] : request.labels) writer.key(key).text(value);
  writer.end_object();
}

}  // namespace

std::string encode_request(const RequestBody& body) {
  const Request& request = body.request;
  const Request defaults;
  JsonWriter writer;
  writer.begin_object();
  write_who(writer, request);
  if (body.names_priority || request.priority != defaults.priority) {
    writer.key("priority").text(to_text(request.priority));
  }
  if (request.share != defaults.share) writer.key("share").text(to_text(request.share));
  if (request.vram != Bytes{}) writer.key("vram_bytes").bytes(request.vram);
  if (request.device_count != defaults.device_count) {
    writer.key("device_count").number(request.device_count);
  }
  if (!request.devices.empty()) write_devices(writer, request.devices);
  if (request.mixed) writer.key("mixed").boolean(true);
  write_time(writer, "eta_ms", request.eta);
  write_time(writer, "limit_ms", request.limit);
  write_time(writer, "wait_ms", request.wait_max);
  write_time(writer, "ttl_ms", request.ttl);
  if (request.leftovers != defaults.leftovers) {
    writer.key("leftovers").text(to_text(request.leftovers));
  }
  if (request.over_budget != defaults.over_budget) {
    writer.key("over_budget").text(to_text(request.over_budget));
  }
  if (request.may_yield) writer.key("may_yield").boolean(true);
  if (request.learned) writer.key("learned").boolean(true);
  if (!request.ancestors.empty()) {
    writer.key("ancestors").begin_array();
    for (const LeaseId id : request.ancestors) writer.number(id.value);
    writer.end_array();
  }
  if (request.checkpoint) {
    writer.key("checkpoint");
    write_checkpoint_way(writer, *request.checkpoint);
  }
  write_time(writer, "requeue_grace_ms", request.requeue_grace);
  if (body.anchor) {
    writer.key("anchor");
    write_process(writer, *body.anchor);
  }
  writer.end_object();
  return writer.take();
}

Result<RequestBody> decode_request(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  RequestBody body;
  Request& request = body.request;
  reader.title("name", request.name);
  reader.title("session", request.session);
  reader.text("command", request.command);
  reader.titles("labels", request.labels);
  reader.word("priority", request.priority);
  body.names_priority = reader.has("priority");
  reader.word("share", request.share);
  reader.bytes("vram_bytes", request.vram, Bytes{1});
  reader.number("device_count", request.device_count, {1, kMax32});
  request.devices = read_devices(reader);
  reader.boolean("mixed", request.mixed);
  reader.milliseconds("eta_ms", request.eta, kShortest);
  reader.milliseconds("limit_ms", request.limit, kShortest);
  reader.milliseconds("wait_ms", request.wait_max);
  reader.milliseconds("ttl_ms", request.ttl, kShortest);
  reader.word("leftovers", request.leftovers);
  reader.word("over_budget", request.over_budget);
  reader.boolean("may_yield", request.may_yield);
  reader.boolean("learned", request.learned);
  for (const std::uint64_t id : reader.numbers("ancestors", {1, kMax64}, kListMax)) {
    request.ancestors.push_back(LeaseId{id});
  }
  request.checkpoint = read_checkpoint_way(reader, "checkpoint");
  reader.milliseconds("requeue_grace_ms", request.requeue_grace, kShortest);
  if (auto anchor = reader.object("anchor")) {
    body.anchor = read_process(*anchor);
    anchor->done();
  }
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

std::string encode_claim(const ClaimBody& body) {
  JsonWriter writer;
  writer.begin_object().key("pid").integer(body.command.pid);
  writer.key("start_ticks").number(body.command.start_ticks);
  write_restarts(writer, body.restarts);
  writer.end_object();
  return writer.take();
}

Result<ClaimBody> decode_claim(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  ClaimBody body{.command = read_process(reader), .restarts = read_restarts(reader)};
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

std::string encode_reconnect(ReconnectBody body) {
  JsonWriter writer;
  writer.begin_object();
  write_restarts(writer, body.restarts);
  writer.end_object();
  return writer.take();
}

Result<ReconnectBody> decode_reconnect(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  const ReconnectBody body{.restarts = read_restarts(reader)};
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

std::string encode_process_body(Process process) {
  JsonWriter writer;
  write_process(writer, process);
  return writer.take();
}

Result<Process> decode_process_body(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  const Process process = read_process(reader);
  reader.done();
  TRY_STATUS(document.status());
  return process;
}

std::string encode_exit(const ExitBody& body) {
  JsonWriter writer;
  writer.begin_object();
  writer.key("code").integer(body.exit.code).key("signal").integer(body.exit.signal);
  writer.key("leftovers").begin_array();
  for (const Process process : body.leftovers) write_process(writer, process);
  writer.end_array();
  write_restarts(writer, body.restarts);
  writer.end_object();
  return writer.take();
}

Result<ExitBody> decode_exit(std::string_view text) {
  constexpr std::uint64_t kCodeMax = 255;
  constexpr std::uint64_t kSignalMax = 64;
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  ExitBody body;
  reader.require("code");
  body.exit.code = static_cast<std::int32_t>(reader.number("code", {0, kCodeMax}).value_or(0));
  body.exit.signal =
      static_cast<std::int32_t>(reader.number("signal", {0, kSignalMax}).value_or(0));
  for (ObjectReader& leftover : reader.objects("leftovers", limits::kLeftoversMax)) {
    body.leftovers.push_back(read_process(leftover));
    leftover.done();
  }
  body.restarts = read_restarts(reader);
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

std::string encode_park(ParkBody body) {
  JsonWriter writer;
  writer.begin_object().key("parked").boolean(body.parked).end_object();
  return writer.take();
}

Result<ParkBody> decode_park(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  ParkBody body;
  reader.require("parked");
  reader.boolean("parked", body.parked);
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

std::string encode_release(ReleaseBody body) {
  JsonWriter writer;
  writer.begin_object();
  if (body.kill) writer.key("kill").boolean(true);
  if (body.detach) writer.key("detach").boolean(true);
  writer.end_object();
  return writer.take();
}

Result<ReleaseBody> decode_release(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  ReleaseBody body;
  reader.boolean("kill", body.kill);
  reader.boolean("detach", body.detach);
  if (body.kill && body.detach) reader.refuse("detach", "and kill contradict each other");
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

std::string encode_resize(const ResizeBody& body) {
  JsonWriter writer;
  writer.begin_object();
  if (body.share) writer.key("share").text(to_text(*body.share));
  if (body.vram) writer.key("vram_bytes").bytes(body.vram);
  write_time(writer, "wait_ms", body.wait_max);
  writer.end_object();
  return writer.take();
}

Result<ResizeBody> decode_resize(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  ResizeBody body;
  Bytes vram;
  Share share = Share::kBudget;
  reader.bytes("vram_bytes", vram, Bytes{1});
  reader.word("share", share);
  reader.milliseconds("wait_ms", body.wait_max);
  if (reader.has("vram_bytes")) body.vram = vram;
  if (reader.has("share")) body.share = share;
  if (!body.share) reader.require("vram_bytes");
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

std::string encode_renew(RenewBody body) {
  JsonWriter writer;
  writer.begin_object().key("ttl_ms").milliseconds(body.ttl).end_object();
  return writer.take();
}

Result<RenewBody> decode_renew(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  std::optional<Duration> ttl;
  reader.require("ttl_ms");
  reader.milliseconds("ttl_ms", ttl, kShortest);
  reader.done();
  TRY_STATUS(document.status());
  return RenewBody{.ttl = ttl.value_or(kShortest)};
}

std::string encode_progress(const ProgressBody& body) {
  JsonWriter writer;
  writer.begin_object().key("done").number(body.done);
  if (body.total) writer.key("total").number(*body.total);
  write_time(writer, "left_ms", body.left);
  write_text(writer, "note", body.note);
  writer.end_object();
  return writer.take();
}

Result<ProgressBody> decode_progress(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  ProgressBody body;
  reader.require("done");
  body.done = reader.number("done", {0, kMax64}).value_or(0);
  body.total = reader.number("total", {0, kMax64});
  reader.milliseconds("left_ms", body.left);
  reader.line("note", body.note);
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

std::string encode_checkpoint(CheckpointBody body) {
  JsonWriter writer;
  writer.begin_object();
  write_time(writer, "wait_ms", body.wait_max);
  writer.end_object();
  return writer.take();
}

Result<CheckpointBody> decode_checkpoint(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  CheckpointBody body;
  reader.milliseconds("wait_ms", body.wait_max);
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

std::string encode_checkpointed(const CheckpointedBody& body) {
  JsonWriter writer;
  writer.begin_object().key("number").number(body.number);
  writer.key("outcome").text(to_text(body.outcome));
  write_text(writer, "detail", body.detail);
  writer.end_object();
  return writer.take();
}

Result<CheckpointedBody> decode_checkpointed(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  CheckpointedBody body;
  reader.require("number");
  reader.require("outcome");
  body.number = reader.number("number", {1, kMax64}).value_or(0);
  reader.word("outcome", body.outcome);
  reader.line("detail", body.detail);
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

std::string encode_pause(const PauseBody& body) {
  JsonWriter writer;
  writer.begin_object();
  write_time(writer, "for_ms", body.lasts);
  write_text(writer, "reason", body.reason);
  writer.end_object();
  return writer.take();
}

Result<PauseBody> decode_pause(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  PauseBody body;
  reader.milliseconds("for_ms", body.lasts, kShortest);
  reader.line("reason", body.reason);
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

std::string encode_move(const MoveBody& body) {
  JsonWriter writer;
  writer.begin_object();
  write_devices(writer, body.devices);
  writer.end_object();
  return writer.take();
}

Result<MoveBody> decode_move(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  MoveBody body{.devices = read_devices(reader)};
  if (body.devices.empty()) reader.refuse("devices", "must name where the lease is to go on");
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

std::string encode_requeue(RequeueBody body) {
  JsonWriter writer;
  writer.begin_object();
  if (body.unsaved) writer.key("unsaved").boolean(true);
  writer.end_object();
  return writer.take();
}

Result<RequeueBody> decode_requeue(std::string_view text) {
  JsonDocument document(text, kBody);
  ObjectReader reader = document.root();
  RequeueBody body;
  reader.boolean("unsaved", body.unsaved);
  reader.done();
  TRY_STATUS(document.status());
  return body;
}

Status decode_nothing(std::string_view text) {
  JsonDocument document(text, kBody);
  document.root().done();
  return document.status();
}

}  // namespace berth::wire
