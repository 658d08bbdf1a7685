// SPDX-License-Identifier: Apache-2.0
// Reads JSON field by field into typed values, and keeps the first thing that was wrong as a
// sentence for a person. Strictly (what others send us: a field nobody asked for is an error) or
// leniently (what a daemon of another version answers: such fields are ignored). Within wire only.
// Not shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_tree.h"
#include "base/result.h"
#include "base/units.h"
#include "base/words.h"

namespace berth::wire {

enum class Manner : std::uint8_t { kStrict, kLenient };

class ObjectReader;

/// As a message repeats a text from outside: its first letters.
std::string shown(std::string_view text);

/// A parsed text and the first error met in it. Errors: kInvalid (malformed, or a wrong value),
/// kNotFound (a field that nobody knows), kFull (longer than `size_max`).
class JsonDocument {
 public:
  struct Form {
    std::string_view what;  // "the request body": the subject of messages.
    Manner manner = Manner::kStrict;
    std::size_t size_max = 0;
  };
  /// An empty text is an empty object. The text must outlive the document.
  JsonDocument(std::string_view text, Form form);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  /// The outermost object; one without fields if there is none.
  ObjectReader root();
  /// The first error, or none.
  Status status() const;

 private:
  friend class ObjectReader;
  void fail(Errc code, std::string message);

  std::string what_;
  Manner manner_;
  std::optional<Error> error_;
  JsonTree tree_;
};

/// One object of a document. Fields that are absent or null leave their target as it is.
/// `done()` ends the reading; only then are unknown fields an error.
class ObjectReader {
 public:
  struct Range {
    std::uint64_t min = 0;
    std::uint64_t max = 0;
  };

  bool has(std::string_view field) { return find(field).has_value(); }  // Present, and not null.
  /// A field that was renamed: the name under which it is there.
  std::string_view either(std::string_view field, std::string_view former) {
    return has(field) || !has(former) ? field : former;
  }
  void require(std::string_view field) {
    if (!has(field)) refuse(field, "is missing");
  }
  void text(std::string_view field, std::string& out);
  void line(std::string_view field, std::string& out);   // Without control characters.
  void title(std::string_view field, std::string& out);  // A line of letters that can be seen.
  void boolean(std::string_view field, bool& out);
  void integer(std::string_view field, std::int32_t& out);
  void integer(std::string_view field, std::int64_t& out);
  std::optional<std::uint64_t> number(std::string_view field, Range range);
  void number(std::string_view field, std::uint32_t& out, Range range);
  void real(std::string_view field, double& out);  // Finite.
  void bytes(std::string_view field, Bytes& out, Bytes min = {});
  void bytes(std::string_view field, std::optional<Bytes>& out);
  void milliseconds(std::string_view field, Duration& out);
  void milliseconds(std::string_view field, std::optional<Duration>& out, Duration min = {});
  void time(std::string_view field, UnixMs& out);
  void time(std::string_view field, std::optional<UnixMs>& out);
  void titles(std::string_view field, std::map<std::string, std::string>& out);
  void texts(std::string_view field, std::map<std::string, std::string>& out);
  void words(std::string_view field, std::vector<std::string>& out);
  std::vector<std::uint64_t> numbers(std::string_view field, Range range, std::size_t count_max);
  using NumberOrText = std::variant<std::uint64_t, std::string>;
  std::optional<NumberOrText> number_or_text(std::string_view field);
  std::vector<NumberOrText> numbers_or_texts(std::string_view field, std::size_t count_max);

  /// One of the words of an enumeration.
  template <HasWords Enum>
  void word(std::string_view field, Enum& out) {
    std::string found;
    text(field, found);
    if (found.empty() && !has(field)) return;
    if (const std::optional<Enum> value = parse_word<Enum>(found)) {
      out = *value;
    } else {
      refuse_word(field, found, choices<Enum>());
    }
  }

  std::optional<ObjectReader> object(std::string_view field);
  std::vector<ObjectReader> objects(std::string_view field, std::size_t count_max);

  /// A value that is well-formed and makes no sense.
  void refuse(std::string_view field, std::string_view why);
  void done();

 private:
  friend class JsonDocument;
  using Index = std::uint32_t;  // Of a node of the document's tree.
  ObjectReader(JsonDocument& document, Index object, std::string path);

  const JsonTree::Node& node(Index index) const { return document_->tree_[index]; }
  Index end() const { return node(object_).end; }
  std::optional<Index> find(std::string_view field);
  std::optional<std::string> text_at(Index index) const { return text_of(node(index)); }
  std::string kind_of(Index index) const;
  std::optional<std::int64_t> integer_between(std::string_view field, std::int64_t min,
                                              std::int64_t max, std::string_view bits);
  std::optional<std::vector<Index>> array(std::string_view field, std::size_t count_max);
  void each_text(std::string_view field, std::map<std::string, std::string>& out, bool titles_only);
  std::string name(std::string_view field) const { return "'" + path_ + std::string(field) + "'"; }
  void refuse_word(std::string_view field, std::string_view found, std::string_view choices);

  JsonDocument* document_;
  Index object_;
  Index next_;        // The key that was found last: mostly fields are asked in their order.
  std::string path_;  // "anchor." and so on; empty at the root.
  std::vector<std::string> asked_;
};

}  // namespace berth::wire
