// SPDX-License-Identifier: Apache-2.0
// JSON read into one flat list of nodes that point into the text: a start of the daemon reads some
// ten thousand lines in a fraction of a second. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace berth {

class JsonTree {
 public:
  enum class Kind : std::uint8_t { kNull, kFalse, kTrue, kNumber, kText, kArray, kObject };
  /// In the order of the text: an array is followed by its elements, an object by its keys and
  /// values in turns.
  struct Node {
    Kind kind = Kind::kNull;
    bool escaped = false;   // The text holds backslashes.
    std::uint32_t end = 0;  // Where the node after this one and all that is inside of it stands.
    std::string_view text;  // Of a number as it stands; of a text what is between the quotes.
  };

  static constexpr std::size_t kDepthMax = 16;  // Of arrays and objects within one another.

  /// Of one value with nothing but blanks around it; the text must outlive the tree. Absent where
  /// it is no JSON, or nested too deep. For what this program has written itself: how a number is
  /// written, whether text is UTF-8 and whether its escapes make sense is for the reader to say.
  static std::optional<JsonTree> parse(std::string_view text);

  struct Fault {
    enum class Kind : std::uint8_t { kNoJson, kTooDeep, kKeyTwice };
    Kind kind = Kind::kNoJson;
    std::size_t byte = 0;  // From 1: where it stopped making sense.
    std::string key;       // Of kKeyTwice.
  };
  /// The same for what others send: all of RFC 8259, in UTF-8, and no key of an object twice.
  static std::variant<JsonTree, Fault> parse_strictly(std::string_view text);

  /// Node 0 is the whole.
  const Node& operator[](std::uint32_t index) const { return nodes_[index]; }

  /// Where the value of this key stands in the object at `object`; absent where it has none, or
  /// is no object. It looks at all keys before.
  std::optional<std::uint32_t> find(std::uint32_t object, std::string_view key) const;

 private:
  std::vector<Node> nodes_;
};

/// The text of a node with its escapes resolved; absent where one is wrong.
std::optional<std::string> text_of(const JsonTree::Node& node);

/// Whether it is one value as RFC 8259 has it, in UTF-8, with nothing but blanks around it and 65
/// levels at most. It takes no memory, however long the text is, and lets a key stand twice.
bool is_json(std::string_view text);

}  // namespace berth
