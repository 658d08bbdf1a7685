// SPDX-License-Identifier: Apache-2.0
#include "setup/json_edit.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace berth::setup {
namespace {

constexpr std::size_t kDepthMax = 64;
constexpr std::string_view kBlanks = " \t\r\n";

/// A part of the text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};
/// A member of an object, or an element of a list.
struct Item {
  std::optional<Span> name = {};  // Of a member, with its quotes.
  Span value;
  std::optional<std::size_t> comma = {};  // Behind it.
  std::size_t begin() const { return name ? name->begin : value.begin; }
  std::size_t end() const { return comma ? *comma + 1 : value.end; }
};
/// An object or a list.
struct Container {
  Span brackets;
  std::vector<Item> items;
};

/// Reads JSON with comments and commas at the end, and finds members in it.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// The object that is the whole text.
  Result<Container> whole() {
    skip();
    if (at_ == text_.size() || text_[at_] != '{') return fail("no object");
    TRY(object, container_here());
    skip();
    if (at_ != text_.size()) return fail("something behind the object");
    return object;
  }
  /// The object, or list, that begins at `at`.
  Result<Container> container_at(std::size_t at, char bracket) {
    at_ = at;
    if (text_[at_] != bracket) {
      return fail(bracket == '{' ? "something else than an object" : "something else than a list");
    }
    return container_here();
  }

 private:
  Error fail(std::string_view what) const {
    const auto line = 1 + std::ranges::count(text_.substr(0, std::min(at_, text_.size())), '\n');
    return {Errc::kInvalid, "line " + std::to_string(line) + ": " + std::string(what)};
  }

  void skip() {
    while (at_ < text_.size()) {
      if (kBlanks.find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else if (text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_).starts_with("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }

  Result<Span> string_here() {
    const std::size_t begin = at_;
    if (at_ == text_.size() || text_[at_] != '"') return fail("no name where one has to be");
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size() && text_[at_] == '\n') return fail("a text that does not end");
    }
    if (at_ >= text_.size()) return fail("a text that does not end");
    return Span{begin, ++at_};
  }

  Result<Span> value_here() {
    const std::size_t begin = at_;
    if (at_ == text_.size()) return fail("no value where one has to be");
    if (text_[at_] == '{' || text_[at_] == '[') {
      TRY(container, container_here());
      return container.brackets;
    }
    if (text_[at_] == '"') return string_here();
    const std::size_t end = text_.find_first_of(" \t\r\n,}]/", at_);
    at_ = std::min(end, text_.size());
    if (at_ == begin) return fail("no value where one has to be");
    return Span{begin, at_};
  }

  Result<Container> container_here() {
    const bool has_names = text_[at_] == '{';
    const char closing = has_names ? '}' : ']';
    Container container{.brackets = {at_++, 0}, .items = {}};
    if (++depth_ > kDepthMax) return fail("nested too deep");
    while (true) {
      skip();
      if (at_ < text_.size() && text_[at_] == closing) break;
      Item item;
      if (has_names) {
        TRY(name, name_here());
        item.name = name;
      }
      TRY(value, value_here());
      TRY(comma, comma_or(closing));
      item.value = value;
      item.comma = comma;
      container.items.push_back(item);
    }
    --depth_;
    container.brackets.end = ++at_;
    return container;
  }

  // With what stands between it and its value.
  Result<Span> name_here() {
    TRY(name, string_here());
    skip();
    if (at_ == text_.size() || text_[at_] != ':') return fail("no colon behind a name");
    ++at_;
    skip();
    return name;
  }

  // Takes a comma, and says where; leaves the bracket.
  Result<std::optional<std::size_t>> comma_or(char bracket) {
    skip();
    if (at_ < text_.size() && text_[at_] == bracket) return std::optional<std::size_t>();
    if (at_ == text_.size() || text_[at_] != ',') {
      return fail(std::string("neither a comma nor ") + bracket);
    }
    return std::optional(at_++);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

std::string_view text_in(std::string_view text, Span span) {
  return text.substr(span.begin, span.end - span.begin);
}

/// Where the way to a member leads.
struct Place {
  Container object;                       // The last that is there.
  std::size_t depth = 0;                  // How many names of the path lie before it.
  std::optional<std::size_t> found = {};  // Which of its items is the member.
};

Result<Place> find(std::string_view text, std::span<const std::string_view> path) {
  TRY(object, Scanner(text).whole());
  Place place{.object = std::move(object)};
  while (true) {
    const std::string name = '"' + std::string(path[place.depth]) + '"';
    const std::vector<Item>& items = place.object.items;
    const auto member = std::ranges::find_if(
        items, [&](const Item& each) { return text_in(text, *each.name) == name; });
    if (member == items.end()) return place;
    if (place.depth + 1 == path.size()) {
      place.found = static_cast<std::size_t>(member - items.begin());
      return place;
    }
    TRY(inner, Scanner(text).container_at(member->value.begin, '{'));
    place.object = std::move(inner);
    ++place.depth;
  }
}

// Blanks at the beginning of the line on which `at` stands.
std::string indent_at(std::string_view text, std::size_t at) {
  const std::size_t line = text.rfind('\n', at == 0 ? 0 : at - 1);
  const std::size_t begin = line == std::string_view::npos ? 0 : line + 1;
  const std::size_t end = text.find_first_not_of(" \t", begin);
  return std::string(text.substr(begin, std::min(end, text.size()) - begin));
}

// Where the line ends in which nothing but blanks and comments follows; else `at`.
std::size_t end_of_line(std::string_view text, std::size_t at) {
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == '\n') return i;
    if (text.substr(i).starts_with("//")) return std::min(text.find('\n', i), text.size());
    if (text.substr(i).starts_with("/*")) {
      const std::size_t end = text.find("*/", i + 2);
      if (end == std::string_view::npos) return at;
      i = end + 1;
    } else if (kBlanks.find(text[i]) == std::string_view::npos) {
      return at;
    }
  }
  return at;
}

std::string indented(std::string_view value, const std::string& indent) {
  std::string text;
  for (const char c : value) {
    text += c;
    if (c == '\n') text += indent;
  }
  return text;
}

// How the file indents: as its first member does.
std::string step_of(std::string_view text, const Container& whole) {
  if (whole.items.empty()) return "  ";
  const std::string indent = indent_at(text, whole.items.front().begin());
  return indent.empty() ? "  " : indent;
}

// How an item of it is indented.
std::string indent_in(std::string_view text, const Container& container, const std::string& step) {
  return container.items.empty() ? indent_at(text, container.brackets.begin) + step
                                 : indent_at(text, container.items.front().begin());
}

void append(std::string& text, const Container& container, const std::string& item,
            const std::string& step) {
  const std::string indent = indent_in(text, container, step);
  const std::size_t begin = container.brackets.begin;
  if (container.items.empty()) {
    const std::string outer = indent_at(text, begin);
    text.insert(begin + 1, "\n" + indent + item);
    // What stood in the brackets, a comment perhaps, stays behind it.
    const std::size_t after = begin + 2 + indent.size() + item.size();
    const std::size_t next = text.find_first_not_of(" \t", after);
    if (next == std::string::npos || text[next] != '\n') text.insert(after, "\n" + outer);
    return;
  }
  const Item& last = container.items.back();
  const std::string_view inside =
      std::string_view(text).substr(begin, container.brackets.end - begin);
  if (inside.find('\n') == std::string_view::npos) {
    text.insert(last.end(), (last.comma ? " " : ", ") + item);
    return;
  }
  if (!last.comma) text.insert(last.value.end, ",");
  text.insert(end_of_line(text, last.comma.value_or(last.value.end) + 1), "\n" + indent + item);
}

void erase(std::string& text, const Container& container, std::size_t index) {
  const Item& item = container.items[index];
  const bool is_last = !item.comma && index > 0;
  const std::size_t comma = is_last ? *container.items[index - 1].comma : 0;
  if (is_last && text.find_first_not_of(" \t", comma + 1) == item.begin()) {
    text.erase(comma, item.end() - comma);
    return;
  }
  // With the line, where nothing else stands on it.
  const std::size_t before = text.find_last_not_of(" \t", item.begin() - 1);
  const std::size_t next = text.find_first_not_of(" \t\r", item.end());
  const bool is_line = text[before] == '\n' && next < text.size() && text[next] == '\n';
  const std::size_t begin = is_line ? before : item.begin();
  text.erase(begin, item.end() - begin);
  // Of what is the last now no comma is left that was not there for the next one.
  if (is_last) text.erase(comma, 1);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(kBlanks) == std::string_view::npos;
}

}  // namespace

Result<std::string> with_member(std::string_view text, std::span<const std::string_view> path,
                                std::string_view value) {
  std::string whole(is_blank(text) ? "{\n}\n" : text);
  TRY(place, find(whole, path));
  if (place.found) {
    const Item& item = place.object.items[*place.found];
    whole.replace(item.value.begin, item.value.end - item.value.begin,
                  indented(value, indent_at(whole, item.begin())));
    return whole;
  }
  TRY(outermost, Scanner(whole).whole());
  const std::string step = step_of(whole, outermost);
  std::string indent = indent_in(whole, place.object, step);
  std::string added;
  std::string closing;
  for (std::size_t i = place.depth; i < path.size(); ++i) {
    added += '"' + std::string(path[i]) + "\": ";
    if (i + 1 == path.size()) break;
    closing = "\n" + indent + "}" + closing;
    indent += step;
    added += "{\n" + indent;
  }
  append(whole, place.object, added + indented(value, indent) + closing, step);
  return whole;
}

Result<std::string> without_member(std::string_view text, std::span<const std::string_view> path) {
  std::string whole(text);
  if (is_blank(whole)) return whole;
  TRY(place, find(whole, path));
  if (place.found) erase(whole, place.object, *place.found);
  return whole;
}

Result<std::string> with_element(std::string_view text, std::span<const std::string_view> path,
                                 std::string_view value) {
  TRY(list_text, member_of(text, path));
  if (list_text.empty()) {
    return with_member(text, path, "[\n  " + indented(value, "  ") + "\n]");
  }
  std::string whole(text);
  TRY(place, find(whole, path));
  TRY(list, Scanner(whole).container_at(place.object.items[*place.found].value.begin, '['));
  TRY(outermost, Scanner(whole).whole());
  const std::string step = step_of(whole, outermost);
  append(whole, list, indented(value, indent_in(whole, list, step)), step);
  return whole;
}

Result<std::string> without_elements(std::string_view text, std::span<const std::string_view> path,
                                     std::string_view mark) {
  std::string whole(text);
  TRY(list_text, member_of(text, path));
  if (list_text.empty()) return whole;
  while (true) {
    TRY(place, find(whole, path));
    TRY(list, Scanner(whole).container_at(place.object.items[*place.found].value.begin, '['));
    const auto marked = std::ranges::find_if(list.items, [&](const Item& item) {
      return text_in(whole, item.value).find(mark) != std::string_view::npos;
    });
    if (marked == list.items.end()) return whole;
    erase(whole, list, static_cast<std::size_t>(marked - list.items.begin()));
  }
}

Result<std::string> member_of(std::string_view text, std::span<const std::string_view> path) {
  if (is_blank(text)) return std::string();
  TRY(place, find(text, path));
  if (!place.found) return std::string();
  return std::string(text_in(text, place.object.items[*place.found].value));
}

}  // namespace berth::setup
