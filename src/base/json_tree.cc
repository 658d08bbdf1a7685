// SPDX-License-Identifier: Apache-2.0
#include "base/json_tree.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <utility>

#include "base/json_string.h"

namespace berth {
namespace {

using Kind = JsonTree::Kind;
using Node = JsonTree::Node;

constexpr std::size_t kNodesReserved = 64;

// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_number(std::string_view text) {
  const auto take_digits = [&] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count > 0;
  };
  const auto take = [&](std::string_view one_of) {
    const bool there = !text.empty() && one_of.contains(text.front());
    if (there) text.remove_prefix(1);
    return there;
  };
  take("-");
  if (!take("0") && !take_digits()) return false;
  if (take(".") && !take_digits()) return false;
  if (take("eE")) {
    take("+-");
    if (!take_digits()) return false;
  }
  return text.empty();
}

class Parser {
 public:
  enum class Manner : std::uint8_t { kOwn, kStrict };
  Parser(std::string_view text, std::vector<Node>& nodes, Manner manner)
      : text_(text), nodes_(nodes), strict_(manner == Manner::kStrict) {}

  bool whole() {
    if (!value(0)) return false;
    skip_blanks();
    return at_ == text_.size();
  }
  JsonTree::Fault fault() && {
    fault_.byte = at_ + 1;
    return std::move(fault_);
  }

 private:
  bool value(std::size_t depth) {
    skip_blanks();
    if (at_ == text_.size()) return false;
    switch (text_[at_]) {
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
    const std::size_t index = nodes_.size();
    if (depth == JsonTree::kDepthMax) return fail(JsonTree::Fault::Kind::kTooDeep);
    nodes_.push_back({.kind = kind});
    ++at_;
    skip_blanks();
    if (!take(close)) {
      do {
        skip_blanks();
        if (kind == Kind::kObject && !(quoted() && take_colon())) return false;
        if (!value(depth + 1)) return false;
        skip_blanks();
      } while (take(','));
      if (!take(close)) return false;
    }
    nodes_[index].end = static_cast<std::uint32_t>(nodes_.size());
    return !strict_ || kind == Kind::kArray || has_each_key_once(index);
  }

  // Sorted, so that an object with very many keys takes no time to speak of.
  bool has_each_key_once(std::size_t object) {
    std::vector<std::string_view> keys;
    std::deque<std::string> resolved;
    for (std::size_t key = object + 1; key < nodes_[object].end; key = nodes_[key + 1].end) {
      const Node& node = nodes_[key];
      keys.push_back(node.escaped ? resolved.emplace_back(text_of(node).value_or("")) : node.text);
    }
    std::ranges::sort(keys);
    const auto twice = std::ranges::adjacent_find(keys);
    if (twice == keys.end()) return true;
    fault_.key = *twice;
    return fail(JsonTree::Fault::Kind::kKeyTwice);
  }

  bool quoted() {
    if (!take('"')) return false;
    const std::size_t start = at_;
    bool escaped = false;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return false;
      if (text_[at_] == '\\') {
        escaped = true;
        ++at_;  // What is escaped is not the end, whatever it is.
      }
    }
    if (at_ >= text_.size()) return false;
    add(Kind::kText, text_.substr(start, at_ - start));
    nodes_.back().escaped = escaped;
    if (strict_ && !is_well_formed(nodes_.back(), start)) return false;
    ++at_;
    return true;
  }

  bool is_well_formed(const Node& text, std::size_t start) {
    const std::size_t length = utf8_length(text.text);
    if (length == text.text.size() && (!text.escaped || text_of(text))) return true;
    at_ = start + length;
    return false;
  }

  bool word(std::string_view wanted, Kind kind) {
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    add(kind, wanted);
    return true;
  }

  // Which numbers fit is for whoever reads them to say.
  bool number() {
    const std::size_t end = text_.find_first_not_of("-+.0123456789eE", at_);
    const std::string_view digits = text_.substr(at_, end - at_);
    if (digits.empty() || (strict_ && !is_number(digits))) return false;
    add(Kind::kNumber, digits);
    at_ += digits.size();
    return true;
  }

  void add(Kind kind, std::string_view text) {
    nodes_.push_back(
        {.kind = kind, .end = static_cast<std::uint32_t>(nodes_.size() + 1), .text = text});
  }

  bool fail(JsonTree::Fault::Kind kind) {
    fault_.kind = kind;
    return false;
  }

  bool take(char wanted) {
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool take_colon() {
    skip_blanks();
    return take(':');
  }
  void skip_blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  std::string_view text_;
  std::vector<Node>& nodes_;
  const bool strict_;
  std::size_t at_ = 0;
  JsonTree::Fault fault_;
};

std::optional<std::uint32_t> four_digits(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t unit = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + 4, unit, 16);
  if (error != std::errc{} || stop != text.data() + 4) return std::nullopt;
  return unit;
}

void append_utf8(std::uint32_t point, std::string& out) {
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80U | (point >> shift & 0x3FU));
  };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0U | point >> 6U);
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0U | point >> 12U);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0U | point >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

// Takes what follows "\u" off the rest; what lies beyond the basic plane is written as two units.
bool take_code_point(std::string_view& rest, std::string& out) {
  const std::optional<std::uint32_t> first = four_digits(rest);
  if (!first) return false;
  rest.remove_prefix(4);
  if (*first < 0xD800 || *first > 0xDFFF) {
    append_utf8(*first, out);
    return true;
  }
  if (*first > 0xDBFF || !rest.starts_with("\\u")) return false;
  const std::optional<std::uint32_t> second = four_digits(rest.substr(2));
  if (!second || *second < 0xDC00 || *second > 0xDFFF) return false;
  rest.remove_prefix(6);
  append_utf8(0x10000 + (*first - 0xD800) * 0x400 + (*second - 0xDC00), out);
  return true;
}

}  // namespace

std::optional<JsonTree> JsonTree::parse(std::string_view text) {
  JsonTree tree;
  tree.nodes_.reserve(kNodesReserved);
  if (!Parser(text, tree.nodes_, Parser::Manner::kOwn).whole()) return std::nullopt;
  return tree;
}

std::variant<JsonTree, JsonTree::Fault> JsonTree::parse_strictly(std::string_view text) {
  JsonTree tree;
  tree.nodes_.reserve(kNodesReserved);
  Parser parser(text, tree.nodes_, Parser::Manner::kStrict);
  if (!parser.whole()) return std::move(parser).fault();
  return tree;
}

std::optional<std::string> text_of(const Node& node) {
  if (node.kind != Kind::kText) return std::nullopt;
  if (!node.escaped) return std::string(node.text);
  std::string out;
  std::string_view rest = node.text;
  while (!rest.empty()) {
    const std::size_t plain = std::min(rest.find('\\'), rest.size());
    out += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (rest.size() < 2) return rest.empty() ? std::optional(out) : std::nullopt;
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    const char name = rest[1];
    rest.remove_prefix(2);
    if (name == 'u') {
      if (!take_code_point(rest, out)) return std::nullopt;
    } else if (const std::size_t known = kNames.find(name); known != std::string_view::npos) {
      out += kMeant[known];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace berth
