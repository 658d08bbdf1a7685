// SPDX-License-Identifier: Apache-2.0
#include "wire/lease.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "base/json_writer.h"
#include "wire/checkpoint.h"
#include "wire/fields.h"
#include "wire/halt.h"
#include "wire/json_reader.h"
#include "wire/measures.h"

namespace berth::wire {
namespace {

std::size_t device_count(const Request& request) {
  return request.devices.empty() ? request.device_count : request.devices.size();
}

// On all devices together; absent where it was not said in bytes.
std::optional<Bytes> requested(const Request& request) {
  if (request.vram == Bytes{}) return std::nullopt;
  Bytes sum;
  const std::size_t count =
      std::min<std::size_t>(device_count(request), kMax64 / request.vram.value);
  sum.value = request.vram.value * count;
  return sum;
}

// Absent if a part is, or if there is no part.
template <class Figure>
std::optional<Bytes> sum_of(const std::vector<LeasePart>& parts, Figure figure) {
  if (parts.empty()) return std::nullopt;
  Bytes sum;
  for (const LeasePart& part : parts) {
    const std::optional<Bytes> value = figure(part);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum;
}

void write_who(JsonWriter& writer, const LeaseView& view, const Viewer& viewer) {
  writer.key("id").number(view.id.value);
  const bool may_speak_for_it = view.user == viewer.user || viewer.sees_all_handles;
  writer.key("handle").text_or_null(may_speak_for_it ? to_text(view.handle) : "");
  writer.key("name").text_or_null(view.request.name);
  const auto name = viewer.names.find(view.user);
  writer.key("user").text_or_null(name == viewer.names.end() ? "" : name->second);
  writer.key("user_id").number(view.user.value);
  writer.key("session").text_or_null(view.request.session);
}

void write_state(JsonWriter& writer, const LeaseView& view) {
  writer.key("state").text(to_text(view.state));
  writer.key("flags").begin_array();
  for (const std::string_view flag : words(view.flags)) writer.text(flag);
  writer.end_array();
  writer.key("pressure").text(to_text(view.pressure));
  writer.key("full_in_ms").milliseconds(view.full_in);
  writer.key("result");
  view.result ? writer.text(to_text(*view.result)) : writer.null();
  writer.key("restarts").number(view.restarts);
  writer.key("requeue");
  view.requeue ? writer.text(to_text(*view.requeue)) : writer.null();
  const bool exited = view.exit && view.exit->signal == 0;
  const bool killed = view.exit && view.exit->signal != 0;
  writer.key("exit_code");
  exited ? writer.integer(view.exit->code) : writer.null();
  writer.key("exit_signal");
  killed ? writer.integer(view.exit->signal) : writer.null();
}

void write_request(JsonWriter& writer, const Request& request) {
  writer.key("priority").text(to_text(request.priority));
  writer.key("share").text(to_text(request.share));
  writer.key("device_count").number(device_count(request));
  writer.key("requested_devices").begin_array();
  for (const DeviceName& device : request.devices) {
    if (const auto* index = std::get_if<std::uint32_t>(&device)) {
      writer.number(*index);
    } else {
      writer.text(to_text(std::get<DeviceId>(device)));
    }
  }
  writer.end_array();
  writer.key("mixed").boolean(request.mixed);
  writer.key("leftovers").text(to_text(request.leftovers));
  writer.key("over_budget").text(to_text(request.over_budget));
  writer.key("may_yield").boolean(request.may_yield);
  writer.key("learned").boolean(request.learned);
  writer.key("requeue_grace_ms").milliseconds(request.requeue_grace);
}

void write_memory(JsonWriter& writer, const LeaseView& view) {
  const auto granted = [](const LeasePart& part) { return std::optional<Bytes>(part.granted); };
  const auto used = [](const LeasePart& part) { return part.used; };
  const auto peak = [](const LeasePart& part) { return part.peak; };
  const auto ledger = [](const LeasePart& part) { return part.ledger; };
  writer.key("vram_requested_bytes").bytes(requested(view.request));
  writer.key("vram_granted_bytes").bytes(sum_of(view.parts, granted));
  writer.key("vram_used_bytes").bytes(sum_of(view.parts, used));
  writer.key("vram_peak_bytes").bytes(sum_of(view.parts, peak));
  writer.key("vram_ledger_bytes").bytes(sum_of(view.parts, ledger));
  writer.key("devices").begin_array();
  for (const LeasePart& part : view.parts) {
    writer.begin_object().key("uuid").text(to_text(part.device)).key("index");
    part.index ? writer.number(*part.index) : writer.null();
    writer.key("vram_granted_bytes").bytes(part.granted);
    writer.key("vram_used_bytes").bytes(part.used);
    writer.key("vram_peak_bytes").bytes(part.peak);
    writer.key("vram_ledger_bytes").bytes(part.ledger);
    writer.key("vram_drift_bytes");
    part.drift ? writer.integer(*part.drift) : writer.null();
    writer.key("refused_allocations");
    part.refused ? writer.number(*part.refused) : writer.null();
    writer.key("vram_wanted_bytes").bytes(part.wanted);
    writer.end_object();
  }
  writer.end_array();
}

void write_strays(JsonWriter& writer, const std::vector<Stray>& strays) {
  writer.key("strays").begin_array();
  for (const Stray& stray : strays) {
    writer.begin_object().key("pid").integer(stray.process.pid);
    writer.key("start_ticks").number(stray.process.start_ticks);
    writer.key("name").text_or_null(stray.name);
    writer.key("uuid").text(to_text(stray.device)).key("index");
    stray.index ? writer.number(*stray.index) : writer.null();
    writer.key("vram_used_bytes").bytes(stray.used).end_object();
  }
  writer.end_array();
}

void write_processes(JsonWriter& writer, const LeaseView& view, const Viewer& viewer) {
  const bool known = view.command.has_value();
  writer.key("pid");
  known ? writer.integer(view.command->pid) : writer.null();
  writer.key("start_ticks");
  known ? writer.number(view.command->start_ticks) : writer.null();
  writer.key("supervisor_pid");
  view.supervisor ? writer.integer(view.supervisor->pid) : writer.null();
  writer.key("member_pids").begin_array();
  for (const Process member : view.members) writer.integer(member.pid);
  writer.end_array();
  const bool shown = viewer.sees_all_commands || viewer.user == view.user;
  writer.key("command").text_or_null(shown ? view.request.command : "");
  writer.key("labels").begin_object();
  for (const auto& [key, value] : view.request.labels) writer.key(key).text(value);
  writer.end_object();
}

void write_times(JsonWriter& writer, const LeaseView& view) {
  writer.key("queued").time(view.queued_at);
  writer.key("started").time(view.started_at);
  writer.key("ended").time(view.ended_at);
  writer.key("expected_end").time(view.expected_end);
  writer.key("expires").time(view.expires_at);
  writer.key("turn_ends").time(view.turn_ends_at);
  writer.key("eta_ms").milliseconds(view.request.eta);
  writer.key("limit_ms").milliseconds(view.request.limit);
  writer.key("wait_ms").milliseconds(view.request.wait_max);
  writer.key("ttl_ms").milliseconds(view.request.ttl);
  writer.key("waited_ms").milliseconds(view.waited);
  writer.key("queue_position");
  view.queue_position ? writer.number(*view.queue_position) : writer.null();
}

LeaseFlags read_flags(ObjectReader& reader) {
  std::vector<std::string> set;
  reader.words("flags", set);
  const auto has = [&](std::string_view word) { return std::ranges::find(set, word) != set.end(); };
  return {.over_budget = has("over_budget"),
          .parked = has("parked"),
          .revoking = has("revoking"),
          .degraded = has("degraded"),
          .unclaimed = has("unclaimed"),
          .astray = has("astray"),
          .full = has("full"),
          .checkpointing = has("checkpointing"),
          .suspending = has("suspending"),
          .resuming = has("resuming"),
          .requeuing = has("requeuing"),
          .frozen = has("frozen")};
}

std::optional<std::int32_t> read_pid(ObjectReader& reader, std::string_view field) {
  if (!reader.has(field)) return std::nullopt;
  std::int32_t pid = 0;
  reader.integer(field, pid);
  return pid;
}

void read_state(ObjectReader& reader, LeaseView& view) {
  reader.require("state");
  reader.word("state", view.state);
  view.flags = read_flags(reader);
  reader.word("pressure", view.pressure);
  reader.milliseconds("full_in_ms", view.full_in);
  if (reader.has("result")) {
    view.result.emplace(EndResult::kOk);
    reader.word("result", *view.result);
  }
  reader.number("restarts", view.restarts, {0, kMax32});
  if (reader.has("requeue")) {
    reader.word("requeue", view.requeue.emplace(RequeueStep::kSaving));
  }
  if (reader.has("exit_code") || reader.has("exit_signal")) {
    view.exit.emplace();
    reader.integer("exit_code", view.exit->code);
    reader.integer("exit_signal", view.exit->signal);
  }
}

void read_request(ObjectReader& reader, Request& request) {
  reader.text("name", request.name);
  reader.text("session", request.session);
  reader.text("command", request.command);
  reader.texts("labels", request.labels);
  reader.word("priority", request.priority);
  reader.word("share", request.share);
  reader.number("device_count", request.device_count, {1, kMax32});
  for (const auto& name : reader.numbers_or_texts("requested_devices", kAnyCount)) {
    if (const auto* index = std::get_if<std::uint64_t>(&name)) {
      if (*index > kMax32) reader.refuse("requested_devices", "must be indices or UUIDs");
      request.devices.emplace_back(static_cast<std::uint32_t>(*index));
    } else if (const auto uuid = parse_device_id(std::get<std::string>(name))) {
      request.devices.emplace_back(*uuid);
    }
  }
  std::optional<Bytes> sum;
  reader.bytes("vram_requested_bytes", sum);
  if (sum) request.vram = Bytes{sum->value / std::max<std::size_t>(1, device_count(request))};
  reader.boolean("mixed", request.mixed);
  reader.word("leftovers", request.leftovers);
  reader.word("over_budget", request.over_budget);
  reader.boolean("may_yield", request.may_yield);
  reader.boolean("learned", request.learned);
  reader.milliseconds("requeue_grace_ms", request.requeue_grace);
  reader.milliseconds("eta_ms", request.eta);
  reader.milliseconds("limit_ms", request.limit);
  reader.milliseconds("wait_ms", request.wait_max);
  reader.milliseconds("ttl_ms", request.ttl);
}

void read_parts(ObjectReader& reader, std::vector<LeasePart>& parts) {
  for (ObjectReader& device : reader.objects("devices", kAnyCount)) {
    LeasePart part;
    part.device = read_device_id(device, "uuid");
    if (device.has("index")) device.number("index", part.index.emplace(), {0, kMax64});
    device.bytes("vram_granted_bytes", part.granted);
    device.bytes("vram_used_bytes", part.used);
    device.bytes("vram_peak_bytes", part.peak);
    device.bytes("vram_ledger_bytes", part.ledger);
    if (device.has("vram_drift_bytes")) device.integer("vram_drift_bytes", part.drift.emplace());
    part.refused = device.number("refused_allocations", {0, kMax64});
    device.bytes("vram_wanted_bytes", part.wanted);
    parts.push_back(part);
  }
}

void read_strays(ObjectReader& reader, std::vector<Stray>& strays) {
  for (ObjectReader& item : reader.objects("strays", kAnyCount)) {
    Stray stray;
    item.integer("pid", stray.process.pid);
    stray.process.start_ticks = item.number("start_ticks", {0, kMax64}).value_or(0);
    item.text("name", stray.name);
    stray.device = read_device_id(item, "uuid");
    if (item.has("index")) item.number("index", stray.index.emplace(), {0, kMax64});
    item.bytes("vram_used_bytes", stray.used);
    strays.push_back(std::move(stray));
  }
}

void read_processes(ObjectReader& reader, LeaseView& view) {
  if (const auto pid = read_pid(reader, "pid")) {
    const std::uint64_t start = reader.number("start_ticks", {0, kMax64}).value_or(0);
    view.command = Process{.pid = *pid, .start_ticks = start};
  }
  if (const auto pid = read_pid(reader, "supervisor_pid")) {
    view.supervisor = Process{.pid = *pid, .start_ticks = 0};
  }
  for (const std::uint64_t pid : reader.numbers("member_pids", {0, kPidMax}, kAnyCount)) {
    view.members.push_back({.pid = static_cast<std::int32_t>(pid), .start_ticks = 0});
  }
}

void read_times(ObjectReader& reader, LeaseView& view) {
  reader.time("queued", view.queued_at);
  reader.time("started", view.started_at);
  reader.time("ended", view.ended_at);
  reader.time("expected_end", view.expected_end);
  reader.time("expires", view.expires_at);
  reader.time("turn_ends", view.turn_ends_at);
  reader.milliseconds("waited_ms", view.waited);
  if (reader.has("queue_position")) {
    reader.number("queue_position", view.queue_position.emplace(), {0, kMax64});
  }
}

void write_progress(JsonWriter& writer, const std::optional<Progress>& progress, bool shown) {
  writer.key("progress");
  if (!progress) {
    writer.null();
    return;
  }
  writer.begin_object().key("done").number(progress->done).key("total");
  progress->total ? writer.number(*progress->total) : writer.null();
  writer.key("left_ms").milliseconds(progress->left);
  writer.key("note").text_or_null(shown ? progress->note : "");
  writer.key("time").time(progress->at).end_object();
}

void read_progress(ObjectReader& reader, std::optional<Progress>& progress) {
  std::optional<ObjectReader> object = reader.object("progress");
  if (!object) return;
  progress.emplace();
  progress->done = object->number("done", {0, kMax64}).value_or(0);
  progress->total = object->number("total", {0, kMax64});
  object->milliseconds("left_ms", progress->left);
  object->text("note", progress->note);
  object->time("time", progress->at);
}

bool may_be_set(std::string_view variable) {
  return variable.starts_with("CUDA_") || variable.starts_with("NVIDIA_") ||
         variable.starts_with("BERTH_");
}

}  // namespace

void write_lease(JsonWriter& writer, const LeaseView& view, const Viewer& viewer,
                 LeaseExtras extras) {
  writer.begin_object();
  write_who(writer, view, viewer);
  write_state(writer, view);
  write_request(writer, view.request);
  write_memory(writer, view);
  write_strays(writer, view.strays);
  write_processes(writer, view, viewer);
  write_times(writer, view);
  const bool shown = viewer.sees_all_commands || viewer.user == view.user;
  write_checkpoints(writer, view, shown);
  write_measures(writer, view, shown);
  write_pause(writer, view.pause, viewer.names);
  write_halt(writer, view.halt, viewer.names);
  write_by(writer, "moved_by", view.moved_by, viewer.names);
  write_by(writer, "ended_by", view.ended_by, viewer.names);
  write_by(writer, "requeued_by", view.requeued_by, viewer.names);
  writer.key("left_alone_pids").begin_array();
  for (const std::int32_t pid : view.left_alone) {
    writer.number(static_cast<std::uint64_t>(pid));
  }
  writer.end_array();
  write_progress(writer, view.progress, shown);
  if (extras.env != nullptr) {
    writer.key("env").begin_object();
    for (const auto& [name, value] : *extras.env) writer.key(name).text(value);
    writer.end_object();
  }
  if (extras.refusal != nullptr) {
    writer.key("refusal").begin_object();
    writer.key("code").text(to_text(extras.refusal->code));
    writer.key("message").text(extras.refusal->message).end_object();
  }
  writer.end_object();
}

LeaseAnswer read_lease(ObjectReader& reader) {
  LeaseAnswer answer;
  LeaseView& view = answer.view;
  reader.require("id");
  view.id = LeaseId{reader.number("id", {1, kMax64}).value_or(0)};
  std::string handle;
  reader.text("handle", handle);
  if (const std::optional<Handle> parsed = parse_handle(handle)) {
    view.handle = *parsed;
  } else if (!handle.empty()) {
    reader.refuse("handle", "must be the handle of a lease");
  }
  reader.text("user", answer.user);
  reader.require("user_id");
  reader.number("user_id", view.user.value, {0, kMax64});
  read_state(reader, view);
  read_request(reader, view.request);
  read_parts(reader, view.parts);
  read_strays(reader, view.strays);
  read_processes(reader, view);
  read_times(reader, view);
  read_checkpoints(reader, view);
  read_measures(reader, view);
  read_pause(reader, view.pause);
  UserNames names;  // Only the owner is told apart.
  read_halt(reader, view.halt, names);
  read_by(reader, "moved_by", view.moved_by);
  read_by(reader, "ended_by", view.ended_by);
  read_by(reader, "requeued_by", view.requeued_by);
  for (const std::uint64_t pid : reader.numbers("left_alone_pids", {0, kPidMax}, kAnyCount)) {
    view.left_alone.push_back(static_cast<std::int32_t>(pid));
  }
  read_progress(reader, view.progress);
  reader.texts("env", answer.env);
  std::erase_if(answer.env, [](const auto& entry) { return !may_be_set(entry.first); });
  if (std::optional<ObjectReader> refusal = reader.object("refusal")) {
    answer.refusal.emplace();
    refusal->text("code", answer.refusal->code);
    refusal->text("message", answer.refusal->message);
  }
  return answer;
}

std::string encode_lease(const LeaseView& view, const Viewer& viewer, LeaseExtras extras) {
  JsonWriter writer;
  write_lease(writer, view, viewer, extras);
  return writer.take();
}

Result<LeaseAnswer> decode_lease(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  LeaseAnswer answer = read_lease(reader);
  TRY_STATUS(document.status());
  return answer;
}

std::string encode_leases(std::string_view schema, UnixMs time, const std::vector<LeaseView>& items,
                          const Viewer& viewer, std::optional<LeaseId> next) {
  JsonWriter writer;
  writer.begin_object().key("schema").text(schema).key("time").time(time);
  writer.key("items").begin_array();
  for (const LeaseView& item : items) write_lease(writer, item, viewer);
  writer.end_array();
  if (next) writer.key("next").number(next->value);
  writer.end_object();
  return writer.take();
}

Result<LeaseList> decode_leases(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  LeaseList list;
  reader.time("time", list.time);
  for (ObjectReader& item : reader.objects("items", kAnyCount)) {
    LeaseAnswer answer = read_lease(item);
    if (!answer.user.empty()) list.names.emplace(answer.view.user, std::move(answer.user));
    list.items.push_back(std::move(answer.view));
  }
  const auto next = reader.number("next", {1, kMax64});
  if (next) list.next = LeaseId{*next};
  TRY_STATUS(document.status());
  return list;
}

std::optional<LeaseId> next_of_leases(std::string_view text) {
  JsonDocument document(text, kAnswer);
  const auto next = document.root().number("next", {1, kMax64});
  return next && document.status().ok() ? std::optional(LeaseId{*next}) : std::nullopt;
}

}  // namespace berth::wire
