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
// An answer lists each process once, with what is known of it, and the devices name it by its pid.
// Of processes there are hundreds each second, and so they are lists without names: pid, start,
// user, name, lease, alive, and the ancestors' pids and starts; on a device, pid and use in turn.
//   {"number":7,"simulated":false,"driver":"575.57","trouble":"",
//    "processes":[[4711,812,1000,"python",null,true,4000,700,1,3]],
//    "devices":[{"uuid":"GPU-…","index":0,"model":"…","pci_bus":"…","lost":false,"asleep":false,
//                "trouble":"","capacity":17179869184,"used":1048576,"reserved":null,
//                "processes":[4711,null]}]}

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
  Json json = Json::array();
  json.push_back(process.process.pid);
  json.push_back(process.process.start_ticks);
  json.push_back(process.user.value);
  json.push_back(process.name);
  json.push_back(process.env_lease ? Json(to_text(*process.env_lease)) : Json(nullptr));
  json.push_back(process.alive);
  for (std::size_t i = 0; i < std::min(process.ancestors.size(), kAncestorsMax); ++i) {
    json.push_back(process.ancestors[i].pid);
    json.push_back(process.ancestors[i].start_ticks);
  }
  return json;
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
    processes.push_back(process.process.pid);
    processes.push_back(json_of(process.used));
  }
  return json;
}

constexpr auto kAnyNumber = std::numeric_limits<std::uint64_t>::max();

// Reads values. Where one is not as it must be its name is remembered, and something empty is read
// in its place: a caller reads on and asks once at the end.
class Reader {
 public:
  /// Null: all was as it must be.
  const char* wrong() const { return wrong_; }

  std::uint64_t number(const Json& value, const char* name, std::uint64_t max = kAnyNumber) {
    const auto* number = value.get_ptr<const Json::number_unsigned_t*>();
    if (number == nullptr || *number > max) {
      wrong_ = name;
      return 0;
    }
    return *number;
  }
  std::int32_t pid(const Json& value, const char* name) {
    return static_cast<std::int32_t>(number(value, name, std::numeric_limits<std::int32_t>::max()));
  }
  std::optional<Bytes> bytes(const Json& value, const char* name) {
    if (value.is_null()) return std::nullopt;
    return Bytes{number(value, name)};
  }
  bool truth(const Json& value, const char* name) {
    const auto* truth = value.get_ptr<const Json::boolean_t*>();
    if (truth == nullptr) wrong_ = name;
    return truth != nullptr && *truth;
  }
  std::string text(const Json& value, const char* name) {
    const auto* text = value.get_ptr<const Json::string_t*>();
    if (text == nullptr) wrong_ = name;
    return text != nullptr ? *text : std::string();
  }
  const Json::array_t& list(const Json& value, const char* name, std::size_t max) {
    static const Json::array_t kNone;
    const auto* list = value.get_ptr<const Json::array_t*>();
    if (list == nullptr || list->size() > max) {
      wrong_ = name;
      return kNone;
    }
    return *list;
  }
  void reject(const char* what) { wrong_ = what; }

 private:
  const char* wrong_ = nullptr;
};

// Reads the fields of one object by their names.
class Fields {
 public:
  Fields(const Json& json, Reader& reader) : json_(json), reader_(reader) {
    if (!json.is_object()) reader_.reject("not an object");
  }

  std::uint64_t number(const char* name, std::uint64_t max = kAnyNumber) {
    return reader_.number(field(name), name, max);
  }
  std::optional<Bytes> bytes(const char* name) { return reader_.bytes(field(name), name); }
  bool truth(const char* name) { return reader_.truth(field(name), name); }
  std::string text(const char* name) { return reader_.text(field(name), name); }
  const Json::array_t& list(const char* name, std::size_t max) {
    return reader_.list(field(name), name, max);
  }
  bool is_null(const char* name) { return field(name).is_null(); }

 private:
  const Json& field(const char* name) {
    static const Json kNull;
    const auto found = json_.is_object() ? json_.find(name) : json_.end();
    if (!json_.is_object() || found == json_.end()) {
      reader_.reject(name);
      return kNull;
    }
    return *found;
  }

  const Json& json_;
  Reader& reader_;
};

ProcessSample read_process(const Json& json, Reader& reader) {
  constexpr std::size_t kOwn = 6;  // Before the ancestors.
  const Json::array_t& values = reader.list(json, "processes", kOwn + 2 * kAncestorsMax);
  ProcessSample process;
  if (values.size() < kOwn || values.size() % 2 != 0) {
    reader.reject("processes");
    return process;
  }
  process.process = {.pid = reader.pid(values[0], "pid"),
                     .start_ticks = reader.number(values[1], "start")};
  process.user = {static_cast<std::uint32_t>(
      reader.number(values[2], "user", std::numeric_limits<std::uint32_t>::max()))};
  process.name = reader.text(values[3], "name");
  if (!values[4].is_null()) {
    process.env_lease = parse_handle(reader.text(values[4], "lease"));
    if (!process.env_lease) reader.reject("lease");
  }
  process.alive = reader.truth(values[5], "alive");
  process.ancestors.reserve((values.size() - kOwn) / 2);
  for (std::size_t i = kOwn; i < values.size(); i += 2) {
    process.ancestors.push_back({.pid = reader.pid(values[i], "ancestors"),
                                 .start_ticks = reader.number(values[i + 1], "ancestors")});
  }
  return process;
}

Identity read_identity(const Json& json, Reader& reader) {
  Fields fields(json, reader);
  const std::optional<DeviceId> id = parse_device_id(fields.text("uuid"));
  if (!id) reader.reject("uuid");
  return {.id = id.value_or(DeviceId{}),
          .index = static_cast<std::uint32_t>(fields.number("index", kDevicesMax - 1)),
          .model = fields.text("model"),
          .pci_bus = fields.text("pci_bus")};
}

DeviceSample read_device(const Json& json, const ProcessTable& table, Reader& reader) {
  Fields fields(json, reader);
  DeviceSample device;
  if (!fields.is_null("uuid")) {
    const std::optional<DeviceId> id = parse_device_id(fields.text("uuid"));
    if (!id) reader.reject("uuid");
    device.id = id.value_or(DeviceId{});
  }
  device.index =
      static_cast<std::uint32_t>(fields.number("index", std::numeric_limits<std::uint32_t>::max()));
  device.model = fields.text("model");
  device.pci_bus = fields.text("pci_bus");
  device.lost = fields.truth("lost");
  device.asleep = fields.truth("asleep");
  device.trouble = fields.text("trouble");
  device.capacity = {fields.number("capacity")};
  device.used = fields.bytes("used");
  device.driver_reserved = fields.bytes("reserved");
  if (fields.is_null("processes")) return device;
  device.processes.emplace();
  const Json::array_t& uses = fields.list("processes", 2 * kProcessesMax);
  if (uses.size() % 2 != 0) reader.reject("processes");
  for (std::size_t i = 0; i + 1 < uses.size(); i += 2) {
    const auto known = table.find(reader.pid(uses[i], "pid"));
    if (known == table.end()) {
      reader.reject("a pid that is not listed");
      continue;
    }
    device.processes->push_back(known->second);
    device.processes->back().used = reader.bytes(uses[i + 1], "used");
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
  Reader reader;
  Fields fields(json, reader);
  Question question{.number = fields.number("number"), .known = {}};
  for (const Json& entry : fields.list("known", kDevicesMax)) {
    question.known.push_back(read_identity(entry, reader));
  }
  if (reader.wrong() != nullptr) return corrupt(reader.wrong());
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
  Reader reader;
  Fields fields(json, reader);
  Answer answer{.number = fields.number("number")};
  answer.sample.simulated = fields.truth("simulated");
  answer.sample.driver_version = fields.text("driver");
  answer.sample.trouble = fields.text("trouble");
  ProcessTable table;
  for (const Json& entry : fields.list("processes", kProcessesMax)) {
    ProcessSample process = read_process(entry, reader);
    const std::int32_t pid = process.process.pid;
    if (!table.emplace(pid, std::move(process)).second) reader.reject("a pid that is listed twice");
  }
  std::set<DeviceId> seen;
  for (const Json& entry : fields.list("devices", kDevicesMax)) {
    answer.sample.devices.push_back(read_device(entry, table, reader));
    const DeviceId id = answer.sample.devices.back().id;
    if (id != DeviceId{} && !seen.insert(id).second) reader.reject("a uuid that is listed twice");
  }
  if (reader.wrong() != nullptr) return corrupt(reader.wrong());
  return answer;
}

}  // namespace berth::gpu
