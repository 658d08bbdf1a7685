// SPDX-License-Identifier: Apache-2.0
#include "model/record_json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/json_string.h"
#include "base/json_tree.h"
#include "base/number.h"
#include "model/record_fields.h"

namespace berth {
namespace {

// ---- Writing: every value is appended at once, nothing is built in between.

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  /// Absent and empty values are left out.
  template <class T>
  void operator()(std::string_view name, const std::optional<T>& value) {
    if (value) required(name, *value);
  }
  template <class T>
    requires requires(const T& t) { t.empty(); }
  void operator()(std::string_view name, const T& value) {
    if (!value.empty()) required(name, value);
  }
  template <class T>
  void operator()(std::string_view name, const T& value) {
    required(name, value);
  }
  template <class T>
  void required(std::string_view name, const T& value) {
    key(name);
    write(value);
  }

  template <class T>
  void object(const T& value) {
    out_ += '{';
    first_ = true;
    record_fields::walk(*this, value);
    out_ += '}';
    first_ = false;
  }

  void key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }

  void write(std::integral auto value) {
    std::array<char, 24> digits;
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    out_.append(digits.data(), end);
  }
  void write(bool value) { out_ += value ? "true" : "false"; }
  void write(double value) {
    CHECK(std::isfinite(value));
    std::array<char, 32> digits;
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    out_.append(digits.data(), end);
  }
  void write(std::string_view text) { append_json_string(text, out_); }
  void write(const std::string& text) { append_json_string(text, out_); }
  void write(Bytes bytes) { write(bytes.value); }
  void write(Instant instant) { write(instant.ns); }
  void write(Duration duration) { write(duration.ns); }
  void write(UnixMs time) { write(time.value); }
  void write(LeaseId id) { write(id.value); }
  void write(UserId user) { write(user.value); }
  void write(Handle handle) { word(to_text(handle)); }
  void write(DeviceId device) { word(to_text(device)); }
  template <HasWords Enum>
  void write(Enum value) {
    word(journal_word(value));
  }
  void write(const DeviceName& name) {
    std::visit([this](const auto& known) { write(known); }, name);
  }
  template <class T>
  void write(const std::vector<T>& list) {
    out_ += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_ += ',';
      write(list[i]);
    }
    out_ += ']';
    first_ = false;
  }
  void write(const std::map<std::string, std::string>& map) {
    out_ += '{';
    for (const auto& [name, value] : map) {
      if (out_.back() != '{') out_ += ',';
      write(name);
      out_ += ':';
      write(value);
    }
    out_ += '}';
  }
  template <class T>
    requires requires(Writer& writer, const T& t) { record_fields::walk(writer, t); }
  void write(const T& value) {
    object(value);
  }

 private:
  void word(std::string_view text) {
    out_ += '"';
    out_ += text;
    out_ += '"';
  }

  std::string& out_;
  bool first_ = true;
};

// ---- Reading: the first thing that does not fit is remembered, and nothing is read after it.

class Reader {
 public:
  Reader(const JsonTree& tree, std::uint32_t object, std::string& trouble)
      : tree_(tree), object_(object), next_(object + 1), trouble_(trouble) {}

  template <class T>
  void operator()(std::string_view name, T& value) {
    if (const std::uint32_t found = find(name); found != 0) read_field(name, found, value);
  }
  template <class T>
  void operator()(std::string_view name, std::optional<T>& value) {
    const std::uint32_t found = find(name);
    if (found != 0 && tree_[found].kind != Kind::kNull) read_field(name, found, value.emplace());
  }
  template <class T>
  void required(std::string_view name, T& value) {
    const std::uint32_t found = find(name);
    if (found != 0) return read_field(name, found, value);
    if (trouble_.empty()) trouble_ = std::string(name) + " is missing";
  }

 private:
  using Kind = JsonTree::Kind;

  // The value of this name; 0, which is the object itself or what is around it, if there is none.
  // Fields are read in the order in which they were written, so that the first look mostly does.
  std::uint32_t find(std::string_view name) {
    if (!trouble_.empty()) return 0;
    const std::uint32_t end = tree_[object_].end;
    const std::uint32_t start = next_;
    for (std::uint32_t key = start; key < end; key = tree_[key + 1].end) {
      if (tree_[key].text == name) return found(key);
    }
    for (std::uint32_t key = object_ + 1; key < start; key = tree_[key + 1].end) {
      if (tree_[key].text == name) return found(key);
    }
    return 0;
  }
  std::uint32_t found(std::uint32_t key) {
    next_ = tree_[key + 1].end;
    return key + 1;
  }

  template <class T>
  void read_field(std::string_view name, std::uint32_t from, T& value) {
    // What is inside of a field has said more already.
    if (!read(from, value) && trouble_.empty()) {
      trouble_ = std::string(name) + " is not what it should be";
    }
  }

  template <class Number>
  bool read_number(std::uint32_t from, Number& to) {
    const JsonTree::Node& node = tree_[from];
    const auto number = node.kind == Kind::kNumber ? parse_number<Number>(node.text) : std::nullopt;
    to = number.value_or(to);
    return number.has_value();
  }
  bool read(std::uint32_t from, std::integral auto& to) { return read_number(from, to); }
  bool read(std::uint32_t from, double& to) { return read_number(from, to) && std::isfinite(to); }
  bool read(std::uint32_t from, bool& to) {
    to = tree_[from].kind == Kind::kTrue;
    return to || tree_[from].kind == Kind::kFalse;
  }
  bool read(std::uint32_t from, std::string& to) {
    std::optional<std::string> text = text_of(tree_[from]);
    if (!text) return false;
    to = *std::move(text);
    return true;
  }
  bool read(std::uint32_t from, Bytes& to) { return read(from, to.value); }
  bool read(std::uint32_t from, Instant& to) { return read(from, to.ns); }
  bool read(std::uint32_t from, Duration& to) { return read(from, to.ns); }
  bool read(std::uint32_t from, UnixMs& to) { return read(from, to.value); }
  bool read(std::uint32_t from, LeaseId& to) { return read(from, to.value); }
  bool read(std::uint32_t from, UserId& to) { return read(from, to.value); }
  bool read(std::uint32_t from, Handle& to) { return read_word(from, to, parse_handle); }
  bool read(std::uint32_t from, DeviceId& to) { return read_word(from, to, parse_device_id); }
  template <HasWords Enum>
  bool read(std::uint32_t from, Enum& to) {
    return read_word(from, to, parse_word<Enum>);
  }
  bool read(std::uint32_t from, DeviceName& to) {
    return tree_[from].kind == Kind::kText ? read(from, to.emplace<DeviceId>())
                                           : read(from, to.emplace<std::uint32_t>());
  }
  template <class T>
  bool read(std::uint32_t from, std::vector<T>& to) {
    if (tree_[from].kind != Kind::kArray) return false;
    for (std::uint32_t item = from + 1; item < tree_[from].end; item = tree_[item].end) {
      if (!read(item, to.emplace_back())) return false;
    }
    return true;
  }
  bool read(std::uint32_t from, std::map<std::string, std::string>& to) {
    if (tree_[from].kind != Kind::kObject) return false;
    for (std::uint32_t key = from + 1; key < tree_[from].end; key = tree_[key + 1].end) {
      std::string name;
      if (!read(key, name) || !read(key + 1, to[name])) return false;
    }
    return true;
  }
  template <class T>
    requires requires(Reader& reader, T& t) { record_fields::walk(reader, t); }
  bool read(std::uint32_t from, T& to) {
    if (tree_[from].kind != Kind::kObject) return false;
    Reader inner(tree_, from, trouble_);
    record_fields::walk(inner, to);
    return trouble_.empty();
  }
  // Words, handles and UUIDs hold nothing that would be escaped.
  template <class T, class Parse>
  bool read_word(std::uint32_t from, T& to, const Parse& parse) {
    if (tree_[from].kind != Kind::kText) return false;
    const std::optional<T> value = parse(tree_[from].text);
    if (value) to = *value;
    return value.has_value();
  }

  const JsonTree& tree_;
  std::uint32_t object_;
  std::uint32_t next_;  // The key after the field that was read last.
  std::string& trouble_;
};

// Makes the alternative of Fact whose word this is.
template <std::size_t kIndex = 0>
bool choose(std::string_view word, Fact& fact) {
  if constexpr (kIndex < std::variant_size_v<AnyFact>) {
    fact.emplace<kIndex>();
    return name_of(fact) == word || choose<kIndex + 1>(word, fact);
  } else {
    return false;
  }
}

Error corrupt(const std::string& what) {
  return {Errc::kCorrupt, "not a record: " + what};
}

}  // namespace

void append_json(const Record& record, std::string& line) {
  Writer writer(line);
  line += '{';
  writer.required("sequence", record.sequence);
  writer.required("at_ns", record.at);
  writer.required("wall_ms", record.wall);
  writer.required("fact", name_of(record.fact));
  std::visit([&writer](const auto& fact) { record_fields::walk(writer, fact); }, record.fact);
  line += '}';
}

std::string to_json(const Record& record) {
  std::string line;
  append_json(record, line);
  return line;
}

Result<Record> parse_record(std::string_view line) {
  if (line.size() > kRecordLineMax) {
    return corrupt("longer than " + std::to_string(kRecordLineMax) + " bytes");
  }
  const std::optional<JsonTree> tree = JsonTree::parse(line);
  if (!tree || (*tree)[0].kind != JsonTree::Kind::kObject) return corrupt("no JSON object");
  Record record;
  std::string trouble;
  Reader reader(*tree, 0, trouble);
  reader.required("sequence", record.sequence);
  reader.required("at_ns", record.at);
  reader.required("wall_ms", record.wall);
  std::string word;
  reader.required("fact", word);
  if (trouble.empty() && !choose(word, record.fact)) {
    return Error{Errc::kVersion, "a record of an unknown fact, '" + word.substr(0, 64) + "'"};
  }
  std::visit([&reader](auto& fact) { record_fields::walk(reader, fact); }, record.fact);
  if (!trouble.empty()) return corrupt(trouble);
  return record;
}

}  // namespace berth
