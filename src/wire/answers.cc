// SPDX-License-Identifier: Apache-2.0
#include "wire/answers.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "wire/fields.h"
#include "wire/halt.h"
#include "wire/json_reader.h"

namespace berth::wire {
namespace {

void write_user(JsonWriter& writer, UserId user, const UserNames& names) {
  const auto name = names.find(user);
  writer.key("user").text_or_null(name == names.end() ? "" : name->second);
  writer.key("user_id").number(user.value);
}

UserId read_user(ObjectReader& reader, UserNames& names) {
  UserId user;
  std::string name;
  reader.number("user_id", user.value, kAny);
  reader.text("user", name);
  if (!name.empty()) names.emplace(user, std::move(name));
  return user;
}

void write_ids(JsonWriter& writer, std::string_view field, const std::vector<LeaseId>& ids) {
  writer.key(field).begin_array();
  for (const LeaseId id : ids) writer.number(id.value);
  writer.end_array();
}

std::vector<LeaseId> read_ids(ObjectReader& reader, std::string_view field) {
  std::vector<LeaseId> ids;
  for (const std::uint64_t id : reader.numbers(field, kAny, kAnyCount)) ids.push_back({id});
  return ids;
}

void write_unmanaged_process(JsonWriter& writer, const UnmanagedProcess& unmanaged_process,
                             const UserNames& names) {
  writer.key("pid").integer(unmanaged_process.process.pid);
  writer.key("start_ticks").number(unmanaged_process.process.start_ticks);
  write_user(writer, unmanaged_process.user, names);
  writer.key("name").text_or_null(unmanaged_process.name);
  writer.key("vram_used_bytes").bytes(unmanaged_process.used);
}

void write_unmanaged(JsonWriter& writer, const std::vector<UnmanagedProcess>& unmanaged_processes,
                     const UserNames& names) {
  writer.key("unmanaged_processes").begin_array();
  for (const UnmanagedProcess& unmanaged_process : unmanaged_processes) {
    writer.begin_object();
    write_unmanaged_process(writer, unmanaged_process, names);
    writer.key("lease");
    unmanaged_process.lease ? writer.number(unmanaged_process.lease->value) : writer.null();
    writer.end_object();
  }
  writer.end_array();
}

void write_device(JsonWriter& writer, const DeviceView& device, bool simulated,
                  const UserNames& names) {
  writer.begin_object();
  writer.key("uuid").text(to_text(device.id));
  writer.key("index").number(device.index);
  writer.key("model").text_or_null(device.model);
  writer.key("pci_bus").text_or_null(device.pci_bus);
  writer.key("simulated").boolean(simulated);
  writer.key("lost").boolean(device.lost);
  writer.key("asleep").boolean(device.asleep);
  writer.key("overcommitted").boolean(device.overcommitted);
  writer.key("trouble").text_or_null(device.trouble);
  writer.key("vram_total_bytes").bytes(device.capacity);
  writer.key("vram_used_bytes").bytes(device.used);
  writer.key("vram_unmanaged_bytes").bytes(device.unmanaged);
  writer.key("vram_ignored_bytes").bytes(device.ignored);
  writer.key("vram_driver_bytes").bytes(device.driver_reserved);
  writer.key("vram_reserve_bytes").bytes(device.reserve);
  writer.key("vram_held_back_bytes").bytes(device.held_back);
  writer.key("vram_charged_bytes").bytes(device.charged);
  writer.key("vram_granted_bytes").bytes(device.granted);
  writer.key("vram_grantable_bytes").bytes(device.grantable);
  writer.key("vram_owed_bytes").bytes(device.owed);
  writer.key("vram_context_bytes").bytes(device.context);
  writer.key("pressure").text(to_text(device.pressure));
  writer.key("sample_age_ms").milliseconds(device.sample_age);
  writer.key("processes_listed");
  device.lists_processes ? writer.boolean(*device.lists_processes) : writer.null();
  write_ids(writer, "leases", device.leases);
  write_unmanaged(writer, device.unmanaged_processes, names);
  writer.end_object();
}

DeviceView read_device(ObjectReader& reader, UserNames& names) {
  DeviceView device;
  device.id = read_device_id(reader, "uuid");
  reader.number("index", device.index, kAny);
  reader.text("model", device.model);
  reader.text("pci_bus", device.pci_bus);
  reader.boolean("lost", device.lost);
  reader.boolean("asleep", device.asleep);
  reader.boolean("overcommitted", device.overcommitted);
  reader.text("trouble", device.trouble);
  reader.bytes("vram_total_bytes", device.capacity);
  reader.bytes("vram_used_bytes", device.used);
  reader.bytes(reader.either("vram_unmanaged_bytes", "vram_external_bytes"), device.unmanaged);
  reader.bytes("vram_ignored_bytes", device.ignored);
  reader.bytes("vram_driver_bytes", device.driver_reserved);
  reader.bytes("vram_reserve_bytes", device.reserve);
  reader.bytes("vram_held_back_bytes", device.held_back);
  reader.bytes("vram_charged_bytes", device.charged);
  reader.bytes("vram_granted_bytes", device.granted);
  reader.bytes("vram_grantable_bytes", device.grantable);
  reader.bytes("vram_owed_bytes", device.owed);
  if (reader.has("vram_context_bytes")) reader.bytes("vram_context_bytes", device.context);
  reader.word("pressure", device.pressure);
  reader.milliseconds("sample_age_ms", device.sample_age);
  if (reader.has("processes_listed")) {
    reader.boolean("processes_listed", device.lists_processes.emplace(false));
  }
  device.leases = read_ids(reader, "leases");
  for (ObjectReader& item :
       reader.objects(reader.either("unmanaged_processes", "strangers"), kAnyCount)) {
    UnmanagedProcess unmanaged_process;
    item.integer("pid", unmanaged_process.process.pid);
    unmanaged_process.process.start_ticks = item.number("start_ticks", kAny).value_or(0);
    unmanaged_process.user = read_user(item, names);
    item.text("name", unmanaged_process.name);
    item.bytes("vram_used_bytes", unmanaged_process.used);
    if (item.has("lease"))
      unmanaged_process.lease = LeaseId{item.number("lease", kAny).value_or(0)};
    device.unmanaged_processes.push_back(std::move(unmanaged_process));
  }
  return device;
}

void write_shortages(JsonWriter& writer, const std::vector<Shortage>& shortages) {
  writer.key("shortages").begin_array();
  for (const Shortage& shortage : shortages) {
    writer.begin_object().key("uuid").text(to_text(shortage.device));
    writer.key("index").number(shortage.index);
    writer.key("vram_total_bytes").bytes(shortage.capacity);
    writer.key("vram_held_back_bytes").bytes(shortage.held_back);
    writer.key("vram_charged_bytes").bytes(shortage.charged);
    writer.key("vram_grantable_bytes").bytes(shortage.grantable);
    writer.key("vram_missing_bytes").bytes(shortage.missing);
    writer.key("vram_unmanaged_bytes").bytes(shortage.unmanaged).end_object();
  }
  writer.end_array();
}

std::vector<Shortage> read_shortages(ObjectReader& reader) {
  std::vector<Shortage> shortages;
  for (ObjectReader& item : reader.objects("shortages", kAnyCount)) {
    Shortage shortage;
    shortage.device = read_device_id(item, "uuid");
    item.number("index", shortage.index, kAny);
    item.bytes("vram_total_bytes", shortage.capacity);
    item.bytes("vram_held_back_bytes", shortage.held_back);
    item.bytes("vram_charged_bytes", shortage.charged);
    item.bytes("vram_grantable_bytes", shortage.grantable);
    item.bytes("vram_missing_bytes", shortage.missing);
    item.bytes(item.either("vram_unmanaged_bytes", "vram_external_bytes"), shortage.unmanaged);
    shortages.push_back(shortage);
  }
  return shortages;
}

void write_holders(JsonWriter& writer, const std::vector<Holder>& holders, const UserNames& names) {
  writer.key("holders").begin_array();
  for (const Holder& holder : holders) {
    writer.begin_object().key("id").number(holder.lease.value);
    write_user(writer, holder.user, names);
    writer.key("name").text_or_null(holder.name);
    writer.key("vram_charged_bytes").bytes(holder.charged);
    writer.key("expected_end").time(holder.expected_end);
    writer.key("has_ended").boolean(holder.has_ended).key("devices").begin_array();
    for (const HeldThere& there : holder.devices) {
      writer.begin_object().key("uuid").text(to_text(there.device));
      writer.key("vram_charged_bytes").bytes(there.charged).end_object();
    }
    writer.end_array().end_object();
  }
  writer.end_array();
}

// What a remedy of some kind does not speak of is null.
void write_remedies(JsonWriter& writer, const std::vector<Remedy>& remedies) {
  writer.key("remedies").begin_array();
  for (const Remedy& remedy : remedies) {
    writer.begin_object().key("kind").text(to_text(remedy.kind)).key("id");
    remedy.lease == LeaseId{} ? writer.null() : writer.number(remedy.lease.value);
    writer.key("vram_bytes");
    remedy.bytes == Bytes{} ? writer.null() : writer.number(remedy.bytes.value);
    writer.key("uuid");
    remedy.device == DeviceId{} ? writer.null() : writer.text(to_text(remedy.device));
    write_ids(writer, "also", remedy.also);
    writer.end_object();
  }
  writer.end_array();
}

// The figures of another kind are null.
void write_limit(JsonWriter& writer, const std::optional<LoweredLimit>& limit) {
  writer.key("limit");
  if (!limit) {
    writer.null();
    return;
  }
  const bool leases = limit->kind == LoweredLimit::Kind::kLeases;
  writer.begin_object().key("kind").text(to_text(limit->kind));
  writer.key("leases_allowed");
  leases ? writer.number(limit->allowed) : writer.null();
  writer.key("vram_allowed_bytes");
  leases ? writer.null() : writer.number(limit->allowed);
  writer.key("vram_asked_bytes");
  leases ? writer.null() : writer.number(limit->asked);
  writer.end_object();
}

void read_limit(ObjectReader& reader, std::optional<LoweredLimit>& limit) {
  std::optional<ObjectReader> object = reader.object("limit");
  if (!object) return;
  limit.emplace();
  object->word("kind", limit->kind);
  const bool leases = limit->kind == LoweredLimit::Kind::kLeases;
  const std::string_view allowed = leases ? "leases_allowed" : "vram_allowed_bytes";
  limit->allowed = object->number(allowed, kAny).value_or(0);
  limit->asked = leases ? 1 : object->number("vram_asked_bytes", kAny).value_or(0);
}

std::vector<Holder> read_holders(ObjectReader& reader, UserNames& names) {
  std::vector<Holder> holders;
  for (ObjectReader& item : reader.objects("holders", kAnyCount)) {
    Holder holder;
    holder.lease = LeaseId{item.number("id", kAny).value_or(0)};
    holder.user = read_user(item, names);
    item.text("name", holder.name);
    item.bytes("vram_charged_bytes", holder.charged);
    item.time("expected_end", holder.expected_end);
    item.boolean("has_ended", holder.has_ended);
    for (ObjectReader& part : item.objects("devices", kAnyCount)) {
      HeldThere there{.device = read_device_id(part, "uuid"), .charged = {}};
      part.bytes("vram_charged_bytes", there.charged);
      holder.devices.push_back(there);
    }
    holders.push_back(std::move(holder));
  }
  return holders;
}

// Kinds that a newer daemon knows are left out: a remedy is advice.
std::vector<Remedy> read_remedies(ObjectReader& reader) {
  std::vector<Remedy> remedies;
  for (ObjectReader& item : reader.objects("remedies", kAnyCount)) {
    std::string kind;
    item.text("kind", kind);
    const std::optional<Remedy::Kind> known = parse_word<Remedy::Kind>(kind);
    if (!known) continue;
    Remedy remedy{.kind = *known, .lease = {}, .bytes = {}, .device = {}};
    remedy.lease = LeaseId{item.number("id", kAny).value_or(0)};
    item.bytes("vram_bytes", remedy.bytes);
    if (item.has("uuid")) remedy.device = read_device_id(item, "uuid");
    remedy.also = read_ids(item, "also");
    remedies.push_back(remedy);
  }
  return remedies;
}

std::vector<LeaseView> read_leases(ObjectReader& reader, std::string_view field, UserNames& names) {
  std::vector<LeaseView> leases;
  for (ObjectReader& item : reader.objects(field, kAnyCount)) {
    LeaseAnswer answer = read_lease(item);
    if (!answer.user.empty()) names.emplace(answer.view.user, std::move(answer.user));
    leases.push_back(std::move(answer.view));
  }
  return leases;
}

void write_devices(JsonWriter& writer, std::string_view field,
                   const std::vector<DeviceView>& devices, bool simulated, const UserNames& names) {
  writer.key(field).begin_array();
  for (const DeviceView& device : devices) write_device(writer, device, simulated, names);
  writer.end_array();
}

std::vector<DeviceView> read_devices(ObjectReader& reader, std::string_view field,
                                     UserNames& names) {
  std::vector<DeviceView> devices;
  for (ObjectReader& item : reader.objects(field, kAnyCount)) {
    devices.push_back(read_device(item, names));
  }
  return devices;
}

}  // namespace

std::string encode_status(const StatusAnswer& status, const Viewer& viewer) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/status/v1").key("time").time(status.time);
  writer.key("simulated").boolean(status.simulated);
  writer.key("trouble").text_or_null(status.trouble);
  write_devices(writer, "devices", status.devices, status.simulated, viewer.names);
  writer.key("leases").begin_array();
  for (const LeaseView& lease : status.leases) write_lease(writer, lease, viewer);
  writer.end_array().key("queue").begin_array();
  for (const LeaseView& lease : status.queue) write_lease(writer, lease, viewer);
  writer.end_array().end_object();
  return writer.take();
}

Result<NamedStatus> decode_status(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  NamedStatus named;
  reader.time("time", named.status.time);
  reader.boolean("simulated", named.status.simulated);
  reader.text("trouble", named.status.trouble);
  named.status.devices = read_devices(reader, "devices", named.names);
  named.status.leases = read_leases(reader, "leases", named.names);
  named.status.queue = read_leases(reader, "queue", named.names);
  TRY_STATUS(document.status());
  return named;
}

std::string encode_devices(const DeviceList& list, const UserNames& names) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/devices/v1").key("time").time(list.time);
  writer.key("simulated").boolean(list.simulated);
  write_devices(writer, "items", list.items, list.simulated, names);
  writer.end_object();
  return writer.take();
}

Result<NamedDevices> decode_devices(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  NamedDevices named;
  reader.time("time", named.list.time);
  reader.boolean("simulated", named.list.simulated);
  named.list.items = read_devices(reader, "items", named.names);
  TRY_STATUS(document.status());
  return named;
}

std::string encode_unmanaged(const UnmanagedNews& news, const UserNames& names) {
  JsonWriter writer;
  writer.begin_object().key("uuid").text(to_text(news.device));
  writer.key("index").number(news.index);
  write_unmanaged_process(writer, news.unmanaged_process, names);
  writer.end_object();
  return writer.take();
}

std::string encode_device(const DeviceView& device, bool simulated, const UserNames& names) {
  JsonWriter writer;
  write_device(writer, device, simulated, names);
  return writer.take();
}

std::string encode_why(const WhyView& why, const UserNames& names) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/why/v1");
  writer.key("id").number(why.id.value);
  writer.key("state").text(to_text(why.state));
  writer.key("reason").text(to_text(why.reason));
  writer.key("position").number(why.position);
  write_ids(writer, "ahead", why.ahead);
  writer.key("ahead_count").number(why.ahead_count);
  writer.key("waited_ms").milliseconds(why.waited);
  writer.key("devices_wanted").number(why.devices_wanted);
  writer.key("devices_fitting").number(why.devices_fitting);
  write_shortages(writer, why.shortages);
  write_holders(writer, why.holders, names);
  writer.key("expected_start").time(why.expected_start);
  write_remedies(writer, why.remedies);
  write_limit(writer, why.limit);
  write_halt(writer, why.halt, names);
  writer.end_object();
  return writer.take();
}

Result<NamedWhy> decode_why(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  NamedWhy named;
  WhyView& why = named.why;
  reader.require("id");
  why.id = LeaseId{reader.number("id", kAny).value_or(0)};
  reader.word("state", why.state);
  reader.word("reason", why.reason);
  reader.number("position", why.position, kAny);
  why.ahead = read_ids(reader, "ahead");
  why.ahead_count = reader.number("ahead_count", kAny).value_or(0);
  reader.milliseconds("waited_ms", why.waited);
  if (reader.has("devices_wanted")) reader.number("devices_wanted", why.devices_wanted, kAny);
  if (reader.has("devices_fitting")) reader.number("devices_fitting", why.devices_fitting, kAny);
  why.shortages = read_shortages(reader);
  why.holders = read_holders(reader, named.names);
  reader.time("expected_start", why.expected_start);
  why.remedies = read_remedies(reader);
  read_limit(reader, why.limit);
  read_halt(reader, why.halt, named.names);
  TRY_STATUS(document.status());
  return named;
}

std::string encode_fit(const FitView& fit, const UserNames& names) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/fit/v1");
  writer.key("fits").boolean(fit.fits);
  writer.key("devices").begin_array();
  for (const DeviceId device : fit.devices) writer.text(to_text(device));
  writer.end_array();
  writer.key("expected_start").time(fit.expected_start);
  writer.key("vram_largest_bytes").bytes(fit.largest);
  writer.key("ahead_count").number(fit.ahead_count);
  writer.key("vram_learned_bytes").bytes(fit.learned);
  writer.key("devices_wanted").number(fit.devices_wanted);
  writer.key("devices_fitting").number(fit.devices_fitting);
  write_shortages(writer, fit.shortages);
  write_holders(writer, fit.holders, names);
  write_remedies(writer, fit.remedies);
  writer.end_object();
  return writer.take();
}

Result<FitView> decode_fit(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  FitView fit;
  reader.require("fits");
  reader.boolean("fits", fit.fits);
  std::vector<std::string> devices;
  reader.words("devices", devices);
  for (const std::string& uuid : devices) {
    const std::optional<DeviceId> device = parse_device_id(uuid);
    if (!device) reader.refuse("devices", "must be UUIDs of devices");
    fit.devices.push_back(device.value_or(DeviceId{}));
  }
  reader.time("expected_start", fit.expected_start);
  reader.bytes("vram_largest_bytes", fit.largest);
  fit.ahead_count = reader.number("ahead_count", kAny).value_or(0);
  reader.bytes("vram_learned_bytes", fit.learned);
  if (reader.has("devices_wanted")) reader.number("devices_wanted", fit.devices_wanted, kAny);
  if (reader.has("devices_fitting")) reader.number("devices_fitting", fit.devices_fitting, kAny);
  fit.shortages = read_shortages(reader);
  UserNames names;
  fit.holders = read_holders(reader, names);
  fit.remedies = read_remedies(reader);
  TRY_STATUS(document.status());
  return fit;
}

}  // namespace berth::wire
