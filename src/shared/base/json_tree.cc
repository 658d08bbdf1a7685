// SPDX-License-Identifier: Apache-2.0
#include "base/json_tree.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/json_cursor.h"
#include "base/json_string.h"

namespace berth {
namespace {

using Kind = JsonTree::Kind;
using Node = JsonTree::Node;

constexpr std::size_t kNodesReserved = 64;
constexpr std::size_t kPlainDepthMax = 65;  // Of is_json(), which keeps nothing.

class Parser {
 public:
  enum class Manner : std::uint8_t { kOwn, kStrict };
  /// Without nodes it keeps nothing, and so takes a key twice.
  Parser(std::string_view text, std::vector<Node>* nodes, Manner manner, std::size_t depth_max)
      : cursor_(text), nodes_(nodes), strict_(manner == Manner::kStrict), depth_max_(depth_max) {}

  bool whole() { return value(0) && cursor_.at_end(); }
  JsonTree::Fault fault() && {
    if (fault_.byte == 0) fault_.byte = cursor_.at() + 1;
    return std::move(fault_);
  }

 private:
  bool value(std::size_t depth) {
    switch (cursor_.next()) {
      case '{':
        return list(Kind::kObject, '}', depth);
      case '[':
        return list(Kind::kArray, ']', depth);
      case '"':
        return quoted();
      case 'n':
        return word("null", Kind::kNull);
      case 't':
        return word("true", Kind::kTrue);
      case 'f':
        return word("false", Kind::kFalse);
      default:
        return number();
    }
  }

  bool list(Kind kind, char close, std::size_t depth) {
    if (depth == depth_max_) return fail(JsonTree::Fault::Kind::kTooDeep);
    const std::size_t index = nodes_ == nullptr ? 0 : nodes_->size();
    add(kind, {});
    cursor_.take(kind == Kind::kObject ? '{' : '[');
    if (!cursor_.take(close)) {
      do {
        if (kind == Kind::kObject && !(quoted() && cursor_.take(':'))) return false;
        if (!value(depth + 1)) return false;
      } while (cursor_.take(','));
      if (!cursor_.take(close)) return false;
    }
    if (nodes_ == nullptr) return true;
    (*nodes_)[index].end = static_cast<std::uint32_t>(nodes_->size());
    return !strict_ || kind == Kind::kArray || has_each_key_once(index);
  }

  // Sorted, so that an object with very many keys takes no time to speak of.
  bool has_each_key_once(std::size_t object) {
    std::vector<std::string_view> keys;
    std::deque<std::string> resolved;
    const std::vector<Node>& nodes = *nodes_;
    for (std::size_t key = object + 1; key < nodes[object].end; key = nodes[key + 1].end) {
      const Node& node = nodes[key];
      keys.push_back(node.escaped ? resolved.emplace_back(text_of(node).value_or("")) : node.text);
    }
    std::ranges::sort(keys);
    const auto twice = std::ranges::adjacent_find(keys);
    if (twice == keys.end()) return true;
    fault_.key = *twice;
    return fail(JsonTree::Fault::Kind::kKeyTwice);
  }

  bool quoted() {
    const std::optional<JsonCursor::Quoted> found = cursor_.quoted();
    if (!found || (strict_ && !is_well_formed(*found))) return false;
    add(Kind::kText, found->text);
    if (nodes_ != nullptr) nodes_->back().escaped = found->escaped;
    return true;
  }

  bool is_well_formed(const JsonCursor::Quoted& quoted) {
    const std::size_t length = utf8_length(quoted.text);
    if (length == quoted.text.size() && (!quoted.escaped || unescaped(quoted.text))) return true;
    // It lies before the quote at its end, at which the cursor is.
    fault_.byte = cursor_.at() - quoted.text.size() + length;
    return false;
  }

  bool word(std::string_view wanted, Kind kind) {
    if (!cursor_.word(wanted)) return false;
    add(kind, wanted);
    return true;
  }

  // Which numbers fit is for the reader of them to say.
  bool number() {
    const std::optional<std::string_view> digits =
        strict_ ? cursor_.number() : cursor_.number_letters();
    if (!digits) return false;
    add(Kind::kNumber, *digits);
    return true;
  }

  void add(Kind kind, std::string_view text) {
    if (nodes_ == nullptr) return;
    nodes_->push_back(
        {.kind = kind, .end = static_cast<std::uint32_t>(nodes_->size() + 1), .text = text});
  }

  bool fail(JsonTree::Fault::Kind kind) {
    fault_.kind = kind;
    return false;
  }

  JsonCursor cursor_;
  std::vector<Node>* const nodes_;
  const bool strict_;
  const std::size_t depth_max_;
  JsonTree::Fault fault_;
};

}  // namespace

std::optional<JsonTree> JsonTree::parse(std::string_view text) {
  JsonTree tree;
  tree.nodes_.reserve(kNodesReserved);
  if (!Parser(text, &tree.nodes_, Parser::Manner::kOwn, kDepthMax).whole()) return std::nullopt;
  return tree;
}

std::variant<JsonTree, JsonTree::Fault> JsonTree::parse_strictly(std::string_view text) {
  JsonTree tree;
  tree.nodes_.reserve(kNodesReserved);
  Parser parser(text, &tree.nodes_, Parser::Manner::kStrict, kDepthMax);
  if (!parser.whole()) return std::move(parser).fault();
  return tree;
}

std::optional<std::uint32_t> JsonTree::find(std::uint32_t object, std::string_view key) const {
  if (nodes_[object].kind != Kind::kObject) return std::nullopt;
  for (std::uint32_t at = object + 1; at < nodes_[object].end; at = nodes_[at + 1].end) {
    const Node& node = nodes_[at];
    if (node.escaped ? text_of(node) == key : node.text == key) return at + 1;
  }
  return std::nullopt;
}

std::optional<std::string> text_of(const Node& node) {
  if (node.kind != Kind::kText) return std::nullopt;
  return node.escaped ? unescaped(node.text) : std::optional<std::string>(node.text);
}

bool is_json(std::string_view text) {
  return Parser(text, nullptr, Parser::Manner::kStrict, kPlainDepthMax).whole();
}

}  // namespace berth
