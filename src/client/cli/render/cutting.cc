// SPDX-License-Identifier: Apache-2.0
#include "cli/render/cutting.h"

#include <algorithm>

#include "base/letters.h"

namespace berth::cli {
namespace {

constexpr std::string_view kJoints = " /-_.:=,";

bool is_joint(char letter) {
  return kJoints.find(letter) != std::string_view::npos;
}

std::size_t less(std::size_t columns, std::size_t by) {
  return columns - std::min(columns, by);
}

// The longest beginning that has room and ends where a part of the text does: before a joint, or
// after it.
enum class Joint : bool { kLeftOut, kKept };
std::string_view whole_parts(std::string_view text, std::size_t columns, Joint joint) {
  std::string_view best;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (!is_joint(text[at])) continue;
    const std::string_view part = text.substr(0, at + (joint == Joint::kKept ? 1 : 0));
    if (columns_of(part) > columns) break;
    best = part;
  }
  return best;
}

// How much of two names is the same from the beginning on, in whole letters.
std::size_t common(std::string_view one, std::string_view other) {
  const auto ends = std::ranges::mismatch(one, other);
  auto at = static_cast<std::size_t>(ends.in1 - one.begin());
  while (at > 0 && at < one.size() && (static_cast<unsigned char>(one[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

// Where the part begins in which it differs from the name most like it, and where that ends.
struct Own {
  std::size_t from = 0;
  std::size_t differs = 0;
  std::size_t to = 0;
};

Own own_part(std::string_view name, const std::vector<std::string>& names) {
  Own own;
  for (const std::string& other : names) {
    if (other != name) own.differs = std::max(own.differs, common(name, other));
  }
  if (own.differs < name.size() && is_joint(name[own.differs])) ++own.differs;
  own.from = own.differs;
  while (own.from > 0 && !is_joint(name[own.from - 1])) --own.from;
  own.to = std::min(name.find_first_of(kJoints, own.differs), name.size());
  return own;
}

// The part of its own and what comes after it, as far as there is room.
std::string tail_of(std::string_view name, const Own& own, std::size_t columns, Charset charset) {
  const std::string_view ellipsis = glyphs_of(charset).ellipsis;
  const std::string_view tail = name.substr(own.from);
  if (columns_of(tail) <= columns) return std::string(tail);
  const std::size_t room = less(columns, columns_of(ellipsis));
  const std::string_view parts = whole_parts(tail, room, Joint::kLeftOut);
  if (parts.size() >= own.to - own.from) return std::string(parts).append(ellipsis);
  const std::string_view last = ending(name, columns);
  if (name.size() - last.size() <= own.differs) return std::string(last);
  return std::string(beginning(name.substr(own.differs), room)).append(ellipsis);
}

std::string cut_name(std::string_view name, const std::vector<std::string>& names,
                     std::size_t columns, Charset charset) {
  if (columns_of(name) <= columns) return std::string(name);
  const std::string_view ellipsis = glyphs_of(charset).ellipsis;
  const std::size_t room = less(columns, columns_of(ellipsis));
  const Own own = own_part(name, names);
  const std::string_view parts = whole_parts(name, room, Joint::kLeftOut);
  if (parts.size() >= own.to) return std::string(parts).append(ellipsis);
  if (columns_of(name.substr(0, own.differs)) < room / 2) {
    return std::string(beginning(name, room)).append(ellipsis);
  }
  // Whose it is stays where that is short.
  const std::size_t user = columns_of(name.substr(0, name.find('/') + 1));
  const std::string tail = tail_of(name, own, less(room, user <= columns / 3 ? user : 0), charset);
  const std::string_view head =
      whole_parts(name.substr(0, own.from), less(room, columns_of(tail)), Joint::kKept);
  std::string cut = std::string(head).append(ellipsis).append(tail);
  if (columns_of(cut) <= columns) return cut;
  return std::string(beginning(name, room)).append(ellipsis);
}

}  // namespace

std::string without_end(std::string_view text, std::size_t columns, Charset charset) {
  if (columns_of(text) <= columns) return std::string(text);
  const std::string_view ellipsis = glyphs_of(charset).ellipsis;
  const std::size_t room = less(columns, columns_of(ellipsis));
  std::string_view words = beginning(text, less(room, 1));
  if (text[words.size()] != ' ') words = words.substr(0, std::min(words.rfind(' '), words.size()));
  if (words.size() < text.size() && text[words.size()] == ' ') {
    while (!words.empty() &&
           std::string_view(";,: ").find(words.back()) != std::string_view::npos) {
      words.remove_suffix(1);
    }
    if (!words.empty()) return std::string(words).append(" ").append(ellipsis);
  }
  const std::string_view parts = whole_parts(text, room, Joint::kKept);
  const bool is_enough = columns_of(parts) >= columns / 3;
  std::string cut(is_enough ? parts : beginning(text, room));
  return room > 0 ? cut.append(ellipsis) : cut;
}

std::vector<std::string> told_apart(const std::vector<std::string>& names, std::size_t columns,
                                    Charset charset) {
  std::vector<std::string> cut;
  cut.reserve(names.size());
  for (const std::string& name : names) cut.push_back(cut_name(name, names, columns, charset));
  return cut;
}

}  // namespace berth::cli
