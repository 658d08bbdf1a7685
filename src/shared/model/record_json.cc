// SPDX-License-Identifier: Apache-2.0
#include "model/record_json.h"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_tree.h"
#include "base/json_writer.h"
#include "base/number.h"

namespace berth {
namespace {

// ---- Writing: every value is appended at once, nothing is built in between.

bool is_absent(const auto& value) {
  if constexpr (requires { value.empty(); }) return value.empty();
  if constexpr (requires { value.has_value(); }) return !value.has_value();
  return false;
}

class Writer {
 public:
  explicit Writer(JsonWriter& out) : out_(out) {}

  /// What is absent or empty is left out, unless it is required.
  template <HasFields T>
  void fields(const T& value) {
    for_each_field<T, side::kJournal>([&](auto at) {
      constexpr const auto& kField = decltype(at)::kField;
      const auto& member = kField.place.get(value);
      if (!kField.is_required(side::kJournal) && is_absent(member)) return;
      if constexpr (kField.is_left_out(side::kJournal)) {
        static const T kDefaults;
        if (member == kField.place.get(kDefaults)) return;
      }
      out_.plain_key(kField.journal.text());
      write(member);
    });
  }

 private:
  void write(bool value) { out_.boolean(value); }
  void write(std::signed_integral auto value) { out_.integer(value); }
  void write(std::unsigned_integral auto value) { out_.number(value); }
  void write(double value) { out_.real(value); }
  void write(const std::string& text) { out_.text(text); }
  void write(Bytes bytes) { out_.number(bytes.value); }
  void write(Instant instant) { out_.integer(instant.ns); }
  void write(Duration duration) { out_.integer(duration.ns); }
  void write(UnixMs time) { out_.integer(time.value); }
  void write(LeaseId id) { out_.number(id.value); }
  void write(UserId user) { out_.number(user.value); }
  void write(Handle handle) { out_.plain_text(to_text(handle)); }
  void write(DeviceId device) { out_.plain_text(to_text(device)); }
  void write(HasWords auto value) { out_.plain_text(journal_word(value)); }
  void write(const DeviceName& name) {
    std::visit([this](const auto& known) { this->write(known); }, name);
  }
  template <class T>
  void write(const std::optional<T>& value) {
    if (value) write(*value);  // It is, or its field was left out.
  }
  template <class T>
  void write(const std::vector<T>& list) {
    out_.begin_array();
    for (const T& item : list) write(item);
    out_.end_array();
  }
  void write(const std::map<std::string, std::string>& map) {
    out_.begin_object();
    for (const auto& [name, value] : map) out_.key(name).text(value);
    out_.end_object();
  }
  void write(const HasFields auto& value) {
    out_.begin_object();
    fields(value);
    out_.end_object();
  }

  JsonWriter& out_;
};

// ---- Reading: the first thing that does not fit is remembered, and nothing is read after it.

class Reader {
 public:
  Reader(const JsonTree& tree, std::uint32_t object, std::string& trouble)
      : tree_(tree), object_(object), next_(object + 1), trouble_(trouble) {}

  template <HasFields T>
  void fields(T& value) {
    for_each_field<T, side::kJournal>([&](auto at) {
      constexpr const auto& kField = decltype(at)::kField;
      constexpr bool kRequired = kField.is_required(side::kJournal);
      field(kField.journal.text(), kField.place.reach(value), kRequired);
    });
  }
  template <class T>
  void field(std::string_view name, T& value, bool is_required) {
    const std::uint32_t found = find(name);
    if (found != 0) return read_field(name, found, value);
    if (is_required && trouble_.empty()) trouble_ = std::string(name) + " is missing";
  }
  template <class T>
  void field(std::string_view name, std::optional<T>& value, bool /*is_required*/) {
    const std::uint32_t found = find(name);
    if (found != 0 && tree_[found].kind != Kind::kNull) read_field(name, found, value.emplace());
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
  template <HasFields T>
  bool read(std::uint32_t from, T& to) {
    if (tree_[from].kind != Kind::kObject) return false;
    Reader(tree_, from, trouble_).fields(to);
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
    using Known = std::variant_alternative_t<kIndex, AnyFact>;
    if (kFieldsOf<Known>.noun.name != word) return choose<kIndex + 1>(word, fact);
    fact.emplace<kIndex>();
    return true;
  } else {
    return false;
  }
}

Error corrupt(const std::string& what) {
  return {Errc::kCorrupt, "not a record: " + what};
}

}  // namespace

void append_json(const Record& record, std::string& line) {
  JsonWriter out(std::move(line));
  Writer writer(out);
  out.begin_object();
  writer.fields(record);
  out.plain_key("fact").plain_text(name_of(record.fact));
  std::visit([&writer](const auto& fact) { writer.fields(fact); },
             static_cast<const AnyFact&>(record.fact));
  out.end_object();
  line = out.take();
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
  reader.fields(record);
  std::string word;
  reader.field("fact", word, true);
  if (trouble.empty() && !choose(word, record.fact)) {
    return Error{Errc::kVersion, "a record of an unknown fact, '" + word.substr(0, 64) + "'"};
  }
  std::visit([&reader](auto& fact) { reader.fields(fact); }, static_cast<AnyFact&>(record.fact));
  if (!trouble.empty()) return corrupt(trouble);
  return record;
}

}  // namespace berth
