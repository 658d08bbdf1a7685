// SPDX-License-Identifier: Apache-2.0
#include "gpu/probe_protocol.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

// A question, of which the devices are in the first one to each child:
//   {"number":7,"known":[{"uuid":"GPU-…","index":0,"model":"…","pci_bus":"…"}]}
// An answer lists each process once, with what is known of it, and the devices name it by its pid:
//   {"number":7,"simulated":false,"driver":"575.57","trouble":"",
//    "processes":[{"pid":4711,"start":812,"user":1000,"name":"python","lease":null,
//                  "ancestors":[4000,700,1,3],"alive":true}],
//    "devices":[{"uuid":"GPU-…","index":0,"model":"…","pci_bus":"…","lost":false,"asleep":false,
//                "trouble":"","capacity":17179869184,"used":1048576,"reserved":null,
//                "processes":[{"pid":4711,"used":null}]}]}

namespace berth::gpu {
namespace {

using Json = nlohmann::json;

Error corrupt(const char* what) {
  return {Errc::kCorrupt, std::string("berth-probe: its line is no answer: ") + what};
}

// Bytes that are no UTF-8 (a process may call itself anything) become U+FFFD.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json json_of(const std::optional<Bytes>& bytes) {
  return bytes ? Json(bytes->value) : Json(nullptr);
}

Json json_of(const ProcessSample& process) {
  Json ancestors = Json::array();
  for (std::size_t i = 0; i < std::min(process.ancestors.size(), kAncestorsMax); ++i) {
    ancestors.push_back(process.ancestors[i].pid);
    ancestors.push_back(process.ancestors[i].start_ticks);
  }
  return {{"pid", process.process.pid},
          {"start", process.process.start_ticks},
          {"user", process.user.value},
          {"name", process.name},
          {"lease", process.env_lease ? Json(to_text(*process.env_lease)) : Json(nullptr)},
          {"ancestors", std::move(ancestors)},
          {"alive", process.alive}};
}

using ProcessTable = std::map<std::int32_t, ProcessSample>;

Json json_of(const DeviceSample& device, const ProcessTable& table) {
  Json json = {{"uuid", device.id == DeviceId{} ? Json(nullptr) : Json(to_text(device.id))},
               {"index", device.index},
               {"model", device.model},
               {"pci_bus", device.pci_bus},
               {"lost", device.lost},
               {"asleep", device.asleep},
               {"trouble", device.trouble},
               {"capacity", device.capacity.value},
               {"used", json_of(device.used)},
               {"reserved", json_of(device.driver_reserved)},
               {"processes", nullptr}};
  if (!device.processes) return json;
  Json& processes = json["processes"] = Json::array();
  for (const ProcessSample& process : *device.processes) {
    if (!table.contains(process.process.pid)) continue;
    processes.push_back({{"pid", process.process.pid}, {"used", json_of(process.used)}});
  }
  return json;
}

// Reads the fields of one object. The first thing that is not as it must be is remembered, and
// what is read after it is empty: a caller reads on and asks once at the end.
class Reader {
 public:
  Reader(const Json& json, const char*& wrong) : json_(json), wrong_(wrong) {
    if (!json.is_object()) wrong_ = "not an object";
  }

  const Json& field(const char* name) {
    static const Json kNull;
    const auto found = json_.is_object() ? json_.find(name) : json_.end();
    if (!json_.is_object() || found == json_.end()) {
      wrong_ = name;
      return kNull;
    }
    return *found;
  }
  std::uint64_t number(const char* name,
                       std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) {
    return number_in(field(name), name, max);
  }
  std::uint64_t number_in(const Json& value, const char* name, std::uint64_t max) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > max) {
      wrong_ = name;
      return 0;
    }
    return value.get<std::uint64_t>();
  }
  std::optional<Bytes> bytes(const char* name) {
    if (field(name).is_null()) return std::nullopt;
    return Bytes{number(name)};
  }
  bool truth(const char* name) {
    const Json& value = field(name);
    if (!value.is_boolean()) wrong_ = name;
    return value.is_boolean() && value.get<bool>();
  }
  std::string text(const char* name) {
    const Json& value = field(name);
    if (!value.is_string()) wrong_ = name;
    return value.is_string() ? value.get<std::string>() : std::string();
  }
  const Json::array_t& list(const char* name, std::size_t max) {
    static const Json::array_t kNone;
    const Json& value = field(name);
    const auto* list = value.is_array() ? value.get_ptr<const Json::array_t*>() : nullptr;
    if (list == nullptr || list->size() > max) {
      wrong_ = name;
      return kNone;
    }
    return *list;
  }
  bool is_null(const char* name) { return field(name).is_null(); }
  std::int32_t pid(const Json& value, const char* name) {
    return static_cast<std::int32_t>(
        number_in(value, name, std::numeric_limits<std::int32_t>::max()));
  }
  void reject(const char* what) { wrong_ = what; }

 private:
  const Json& json_;
  const char*& wrong_;
};

ProcessSample read_process(const Json& json, const char*& wrong) {
  Reader reader(json, wrong);
  ProcessSample process;
  process.process = {.pid = reader.pid(reader.field("pid"), "pid"),
                     .start_ticks = reader.number("start")};
  process.user = {
      static_cast<std::uint32_t>(reader.number("user", std::numeric_limits<std::uint32_t>::max()))};
  process.name = reader.text("name");
  if (!reader.is_null("lease")) {
    process.env_lease = parse_handle(reader.text("lease"));
    if (!process.env_lease) reader.reject("lease");
  }
  const Json::array_t& ancestors = reader.list("ancestors", 2 * kAncestorsMax);
  if (ancestors.size() % 2 != 0) reader.reject("ancestors");
  for (std::size_t i = 0; i + 1 < ancestors.size(); i += 2) {
    process.ancestors.push_back(
        {.pid = reader.pid(ancestors[i], "ancestors"),
         .start_ticks = reader.number_in(ancestors[i + 1], "ancestors",
                                         std::numeric_limits<std::uint64_t>::max())});
  }
  process.alive = reader.truth("alive");
  return process;
}

Identity read_identity(const Json& json, const char*& wrong) {
  Reader reader(json, wrong);
  const std::optional<DeviceId> id = parse_device_id(reader.text("uuid"));
  if (!id) reader.reject("uuid");
  return {.id = id.value_or(DeviceId{}),
          .index = static_cast<std::uint32_t>(reader.number("index", kDevicesMax - 1)),
          .model = reader.text("model"),
          .pci_bus = reader.text("pci_bus")};
}

DeviceSample read_device(const Json& json, const ProcessTable& table, const char*& wrong) {
  Reader reader(json, wrong);
  DeviceSample device;
  if (!reader.is_null("uuid")) {
    const std::optional<DeviceId> id = parse_device_id(reader.text("uuid"));
    if (!id) reader.reject("uuid");
    device.id = id.value_or(DeviceId{});
  }
  device.index =
      static_cast<std::uint32_t>(reader.number("index", std::numeric_limits<std::uint32_t>::max()));
  device.model = reader.text("model");
  device.pci_bus = reader.text("pci_bus");
  device.lost = reader.truth("lost");
  device.asleep = reader.truth("asleep");
  device.trouble = reader.text("trouble");
  device.capacity = {reader.number("capacity")};
  device.used = reader.bytes("used");
  device.driver_reserved = reader.bytes("reserved");
  if (reader.is_null("processes")) return device;
  device.processes.emplace();
  for (const Json& entry : reader.list("processes", kProcessesMax)) {
    Reader of_entry(entry, wrong);
    const auto known = table.find(of_entry.pid(of_entry.field("pid"), "pid"));
    if (known == table.end()) {
      reader.reject("a pid that is not listed");
      continue;
    }
    device.processes->push_back(known->second);
    device.processes->back().used = of_entry.bytes("used");
  }
  return device;
}

Result<Json> parse(std::string_view line, std::size_t bytes_max) {
  if (line.size() > bytes_max) return corrupt("it is too long");
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return corrupt("it is no JSON");
  return json;
}

}  // namespace

std::string encode(const Question& question) {
  Json known = Json::array();
  for (std::size_t i = 0; i < std::min(question.known.size(), kDevicesMax); ++i) {
    const Identity& device = question.known[i];
    known.push_back({{"uuid", to_text(device.id)},
                     {"index", device.index},
                     {"model", device.model},
                     {"pci_bus", device.pci_bus}});
  }
  return line_of({{"number", question.number}, {"known", std::move(known)}});
}

Result<Question> decode_question(std::string_view line) {
  TRY(json, parse(line, kQuestionMax));
  const char* wrong = nullptr;
  Reader reader(json, wrong);
  Question question{.number = reader.number("number"), .known = {}};
  for (const Json& entry : reader.list("known", kDevicesMax)) {
    question.known.push_back(read_identity(entry, wrong));
  }
  if (wrong != nullptr) return corrupt(wrong);
  return question;
}

std::string encode(const Answer& answer) {
  ProcessTable table;
  const Sample& sample = answer.sample;
  for (const DeviceSample& device : sample.devices) {
    if (!device.processes) continue;
    for (const ProcessSample& process : *device.processes) {
      if (table.size() < kProcessesMax) table.emplace(process.process.pid, process);
    }
  }
  Json processes = Json::array();
  for (const auto& [pid, process] : table) processes.push_back(json_of(process));
  Json devices = Json::array();
  for (std::size_t i = 0; i < std::min(sample.devices.size(), kDevicesMax); ++i) {
    devices.push_back(json_of(sample.devices[i], table));
  }
  return line_of({{"number", answer.number},
                  {"simulated", sample.simulated},
                  {"driver", sample.driver_version},
                  {"trouble", sample.trouble},
                  {"processes", std::move(processes)},
                  {"devices", std::move(devices)}});
}

Result<Answer> decode_answer(std::string_view line) {
  TRY(json, parse(line, kAnswerMax));
  const char* wrong = nullptr;
  Reader reader(json, wrong);
  Answer answer{.number = reader.number("number")};
  answer.sample.simulated = reader.truth("simulated");
  answer.sample.driver_version = reader.text("driver");
  answer.sample.trouble = reader.text("trouble");
  ProcessTable table;
  for (const Json& entry : reader.list("processes", kProcessesMax)) {
    ProcessSample process = read_process(entry, wrong);
    const std::int32_t pid = process.process.pid;
    if (!table.emplace(pid, std::move(process)).second) reader.reject("a pid that is listed twice");
  }
  std::set<DeviceId> seen;
  for (const Json& entry : reader.list("devices", kDevicesMax)) {
    answer.sample.devices.push_back(read_device(entry, table, wrong));
    const DeviceId id = answer.sample.devices.back().id;
    if (id != DeviceId{} && !seen.insert(id).second) reader.reject("a uuid that is listed twice");
  }
  if (wrong != nullptr) return corrupt(wrong);
  return answer;
}

}  // namespace berth::gpu
