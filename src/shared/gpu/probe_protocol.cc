// SPDX-License-Identifier: Apache-2.0
#include "gpu/probe_protocol.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/json_tree.h"
#include "base/json_writer.h"
#include "base/number.h"
#include "base/words.h"

// A question, of which the devices are in the first one to each child:
//   {"number":7,"known":[{"uuid":"GPU-…","index":0,"model":"…","pci_bus":"…"}]}
// An answer lists each process once, with what is known of it, and the devices name it by its pid.
// Of processes there are hundreds each second, and so they are lists without names: pid, start,
// user, name, lease, alive, and the ancestors' pids and starts; on a device, pid, use and
// utilisation in turn.
//   {"number":7,"simulated":false,"driver":"575.57","trouble":"",
//    "processes":[[4711,812,1000,"python",null,true,4000,700,1,3]],
//    "devices":[{"uuid":"GPU-…","index":0,"model":"…","pci_bus":"…","lost":false,"asleep":false,
//                "trouble":"","capacity":17179869184,"used":1048576,
//                "vram_driver_bytes":null,"processes":[4711,null,80]}]}
// Figures that nothing is computed from (DeviceFigures) are called as in answers to users.

namespace berth::gpu {
namespace {

using Kind = JsonTree::Kind;

Error corrupt(std::string_view what) {
  return {Errc::kCorrupt, "berth-probe: its line is no answer: " + std::string(what)};
}

std::string line_of(JsonWriter& writer) {
  return writer.take() + "\n";
}

void write(JsonWriter& writer, const ProcessSample& process) {
  writer.begin_array().integer(process.process.pid).number(process.process.start_ticks);
  writer.number(process.user.value).text(process.name);
  process.env_lease ? writer.text(to_text(*process.env_lease)) : writer.null();
  writer.boolean(process.alive);
  for (std::size_t i = 0; i < std::min(process.ancestors.size(), kAncestorsMax); ++i) {
    writer.integer(process.ancestors[i].pid).number(process.ancestors[i].start_ticks);
  }
  writer.end_array();
}

template <class T>
void write_figure(JsonWriter& writer, std::optional<T> figure) {
  if constexpr (std::is_same_v<T, Bytes>) {
    writer.bytes(figure);
  } else if constexpr (HasWords<T>) {
    figure ? writer.text(to_text(*figure)) : writer.null();
  } else {
    figure ? writer.number(*figure) : writer.null();
  }
}

void write(JsonWriter& writer, const DeviceFigures& figures) {
  for_each_field<DeviceFigures, side::kAnswer>([&](auto at) {
    constexpr const auto& kField = decltype(at)::kField;
    write_figure(writer.key(kField.wire.text()), kField.place.get(figures));
  });
}

using ProcessTable = std::map<std::int32_t, ProcessSample>;

void write(JsonWriter& writer, const DeviceSample& device, const ProcessTable& table) {
  writer.begin_object().key("uuid");
  device.id == DeviceId{} ? writer.null() : writer.text(to_text(device.id));
  writer.key("index").number(device.index);
  writer.key("model").text(device.model).key("pci_bus").text(device.pci_bus);
  writer.key("lost").boolean(device.lost).key("asleep").boolean(device.asleep);
  writer.key("trouble").text(device.trouble);
  writer.key("capacity").bytes(device.capacity);
  writer.key("used").bytes(device.used);
  write(writer, device.figures);
  writer.key("processes");
  if (!device.processes) {
    writer.null().end_object();
    return;
  }
  writer.begin_array();
  for (const ProcessSample& process : *device.processes) {
    if (!table.contains(process.process.pid)) continue;
    writer.integer(process.process.pid).bytes(process.used);
    write_figure(writer, process.gpu_utilization);
  }
  writer.end_array().end_object();
}

constexpr auto kAnyNumber = std::numeric_limits<std::uint64_t>::max();

// A value, by its place in the tree.
struct Value {
  const JsonTree* tree;
  std::uint32_t index;
  const JsonTree::Node& node() const { return (*tree)[index]; }
  bool is_null() const { return node().kind == Kind::kNull; }
};
using Values = std::vector<Value>;

// Reads values. Where one is not as it must be its name is remembered, and something empty is read
// in its place: a caller reads on and asks once at the end.
class Reader {
 public:
  /// Empty: all was as it must be.
  std::string_view wrong() const { return wrong_; }

  std::uint64_t number(Value value, std::string_view name, std::uint64_t max = kAnyNumber) {
    const bool is_number = value.node().kind == Kind::kNumber;
    const auto number = is_number ? parse_number<std::uint64_t>(value.node().text) : std::nullopt;
    if (!number || *number > max) {
      wrong_ = name;
      return 0;
    }
    return *number;
  }
  std::int32_t pid(Value value, std::string_view name) {
    return static_cast<std::int32_t>(number(value, name, std::numeric_limits<std::int32_t>::max()));
  }
  std::optional<Bytes> bytes(Value value, std::string_view name) {
    if (value.is_null()) return std::nullopt;
    return Bytes{number(value, name)};
  }
  bool truth(Value value, std::string_view name) {
    const Kind kind = value.node().kind;
    if (kind != Kind::kTrue && kind != Kind::kFalse) wrong_ = name;
    return kind == Kind::kTrue;
  }
  std::string text(Value value, std::string_view name) {
    std::optional<std::string> text = text_of(value.node());
    if (!text) wrong_ = name;
    return std::move(text).value_or("");
  }
  Values list(Value value, std::string_view name, std::size_t max) {
    if (value.node().kind != Kind::kArray) {
      wrong_ = name;
      return {};
    }
    Values items;
    for (std::uint32_t item = value.index + 1; item < value.node().end;
         item = (*value.tree)[item].end) {
      if (items.size() == max) {
        wrong_ = name;
        return {};
      }
      items.push_back({value.tree, item});
    }
    return items;
  }
  void reject(std::string_view what) { wrong_ = what; }

 private:
  std::string_view wrong_;
};

// Reads the fields of one object by their names, which stand in the order in which they are asked.
class Fields {
 public:
  Fields(Value object, Reader& reader) : object_(object), next_(object.index + 1), reader_(reader) {
    if (object.node().kind != Kind::kObject) reader_.reject("not an object");
  }

  std::uint64_t number(std::string_view name, std::uint64_t max = kAnyNumber) {
    return reader_.number(field(name), name, max);
  }
  std::optional<Bytes> bytes(std::string_view name) { return reader_.bytes(field(name), name); }
  bool truth(std::string_view name) { return reader_.truth(field(name), name); }
  std::string text(std::string_view name) { return reader_.text(field(name), name); }
  template <HasWords Enum>
  std::optional<Enum> word(std::string_view name) {
    const std::optional<Enum> word = parse_word<Enum>(text(name));
    if (!word) reader_.reject(name);
    return word;
  }
  Values list(std::string_view name, std::size_t max) {
    return reader_.list(field(name), name, max);
  }
  /// Where it is not null it is still to be read.
  bool is_null(std::string_view name) {
    const std::uint32_t before = next_;
    const bool is_null = field(name).is_null();
    if (!is_null) next_ = before;
    return is_null;
  }

 private:
  Value field(std::string_view name) {
    static const JsonTree kNull = JsonTree::parse("null").value_or(JsonTree());
    const JsonTree& tree = *object_.tree;
    const bool is_object = object_.node().kind == Kind::kObject;
    if (!is_object || next_ >= object_.node().end || tree[next_].text != name) {
      reader_.reject(name);
      return {&kNull, 0};
    }
    const std::uint32_t value = next_ + 1;
    next_ = tree[value].end;
    return {&tree, value};
  }

  Value object_;
  std::uint32_t next_;  // The key after the field that was read last.
  Reader& reader_;
};

ProcessSample read_process(Value value, Reader& reader) {
  constexpr std::size_t kOwn = 6;  // Before the ancestors.
  const Values values = reader.list(value, "processes", kOwn + 2 * kAncestorsMax);
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

Identity read_identity(Value value, Reader& reader) {
  Fields fields(value, reader);
  const std::optional<DeviceId> id = parse_device_id(fields.text("uuid"));
  if (!id) reader.reject("uuid");
  return {.id = id.value_or(DeviceId{}),
          .index = static_cast<std::uint32_t>(fields.number("index", kDevicesMax - 1)),
          .model = fields.text("model"),
          .pci_bus = fields.text("pci_bus")};
}

template <class T>
void read_figure(Fields& fields, const FieldRules& rules, std::optional<T>& figure) {
  const std::string_view name = rules.wire.text();
  if constexpr (std::is_same_v<T, Bytes>) {
    figure = fields.bytes(name);
  } else if constexpr (HasWords<T>) {
    if (!fields.is_null(name)) figure = fields.word<T>(name);
  } else if (!fields.is_null(name)) {
    constexpr std::uint64_t kMost = std::numeric_limits<T>::max();
    figure = static_cast<T>(fields.number(name, std::min(rules.max, kMost)));
  }
}

void read_figures(Fields& fields, DeviceFigures& figures) {
  for_each_field<DeviceFigures, side::kAnswer>([&](auto at) {
    constexpr const auto& kField = decltype(at)::kField;
    read_figure(fields, kField, kField.place.reach(figures));
  });
}

DeviceSample read_device(Value value, const ProcessTable& table, Reader& reader) {
  Fields fields(value, reader);
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
  read_figures(fields, device.figures);
  if (fields.is_null("processes")) return device;
  device.processes.emplace();
  const Values uses = fields.list("processes", 3 * kProcessesMax);
  if (uses.size() % 3 != 0) reader.reject("processes");
  for (std::size_t i = 0; i + 2 < uses.size(); i += 3) {
    const auto known = table.find(reader.pid(uses[i], "pid"));
    if (known == table.end()) {
      reader.reject("a pid that is not listed");
      continue;
    }
    device.processes->push_back(known->second);
    device.processes->back().used = reader.bytes(uses[i + 1], "used");
    if (uses[i + 2].is_null()) continue;
    device.processes->back().gpu_utilization =
        static_cast<std::uint32_t>(reader.number(uses[i + 2], "utilisation", 100));
  }
  return device;
}

Result<JsonTree> parse(std::string_view line, std::size_t bytes_max) {
  if (line.size() > bytes_max) return corrupt("it is too long");
  auto parsed = JsonTree::parse_strictly(line);
  if (auto* tree = std::get_if<JsonTree>(&parsed)) return std::move(*tree);
  return corrupt("it is no JSON");
}

}  // namespace

std::string encode(const Question& question) {
  JsonWriter writer;
  writer.begin_object().key("number").number(question.number).key("known").begin_array();
  for (std::size_t i = 0; i < std::min(question.known.size(), kDevicesMax); ++i) {
    const Identity& device = question.known[i];
    writer.begin_object().key("uuid").text(to_text(device.id)).key("index").number(device.index);
    writer.key("model").text(device.model).key("pci_bus").text(device.pci_bus).end_object();
  }
  writer.end_array().end_object();
  return line_of(writer);
}

Result<Question> decode_question(std::string_view line) {
  TRY(tree, parse(line, kQuestionMax));
  Reader reader;
  Fields fields({&tree, 0}, reader);
  Question question{.number = fields.number("number"), .known = {}};
  for (const Value entry : fields.list("known", kDevicesMax)) {
    question.known.push_back(read_identity(entry, reader));
  }
  if (!reader.wrong().empty()) return corrupt(reader.wrong());
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
  JsonWriter writer;
  writer.begin_object().key("number").number(answer.number);
  writer.key("simulated").boolean(sample.simulated).key("driver").text(sample.driver_version);
  writer.key("trouble").text(sample.trouble).key("processes").begin_array();
  for (const auto& [pid, process] : table) write(writer, process);
  writer.end_array().key("devices").begin_array();
  for (std::size_t i = 0; i < std::min(sample.devices.size(), kDevicesMax); ++i) {
    write(writer, sample.devices[i], table);
  }
  writer.end_array().end_object();
  return line_of(writer);
}

Result<Answer> decode_answer(std::string_view line) {
  TRY(tree, parse(line, kAnswerMax));
  Reader reader;
  Fields fields({&tree, 0}, reader);
  Answer answer{.number = fields.number("number")};
  answer.sample.simulated = fields.truth("simulated");
  answer.sample.driver_version = fields.text("driver");
  answer.sample.trouble = fields.text("trouble");
  ProcessTable table;
  for (const Value entry : fields.list("processes", kProcessesMax)) {
    ProcessSample process = read_process(entry, reader);
    const std::int32_t pid = process.process.pid;
    if (!table.emplace(pid, std::move(process)).second) reader.reject("a pid that is listed twice");
  }
  std::set<DeviceId> seen;
  for (const Value entry : fields.list("devices", kDevicesMax)) {
    answer.sample.devices.push_back(read_device(entry, table, reader));
    const DeviceId id = answer.sample.devices.back().id;
    if (id != DeviceId{} && !seen.insert(id).second) reader.reject("a uuid that is listed twice");
  }
  if (!reader.wrong().empty()) return corrupt(reader.wrong());
  return answer;
}

}  // namespace berth::gpu
