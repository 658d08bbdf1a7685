// SPDX-License-Identifier: Apache-2.0
// Messages of JSON-RPC 2.0, one a line, as the Model Context Protocol has them: no batches, ids
// that are text or whole numbers, parameters by name. What a method means is not known here. Pure;
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_tree.h"
#include "base/json_writer.h"
#include "mcp/fault.h"

namespace berth::mcp {

inline constexpr std::size_t kLineMax = std::size_t{1} << 20U;

/// The id of a request, or the token of its progress: as it stood in the message, which is how it
/// is sent back.
struct Id {
  std::string json;  // `7`, `"a"`
  friend auto operator<=>(const Id&, const Id&) = default;
};

/// An object inside a message, read leniently: what is not asked for is passed over. One that is
/// not there has no fields. The message must outlive it.
class Object {
 public:
  Object(const JsonTree& tree, std::optional<std::uint32_t> at) : tree_(&tree), at_(at) {}

  bool has(std::string_view field) const { return find(field).has_value(); }  // And is not null.
  bool has_object(std::string_view field) const;
  /// Absent also where it is something else.
  std::optional<std::string> text(std::string_view field) const;
  std::optional<Id> id(std::string_view field) const;
  Object object(std::string_view field) const;
  /// The value as JSON, in one line; `otherwise` where there is none.
  std::string json(std::string_view field, std::string_view otherwise) const;
  std::string json() const;
  /// Calls visit(key, is it text) for each field.
  void for_each(const std::function<void(std::string_view, bool)>& visit) const;
  /// Absent unless it is a list of texts.
  std::optional<std::vector<std::string>> texts(std::string_view field) const;

 private:
  std::optional<std::uint32_t> find(std::string_view field) const;

  const JsonTree* tree_;
  std::optional<std::uint32_t> at_;
};

struct Message {
  enum class Kind : std::uint8_t { kRequest, kNotification, kResponse };
  Kind kind = Kind::kRequest;
  std::optional<Id> id;  // Each request has one.
  std::string method;    // Empty: it is a response.
  JsonTree tree;         // Of the line, which must outlive the message.

  Object whole() const { return {tree, 0}; }
  Object params() const { return whole().object("params"); }
};

/// What is wrong with a line, and whose answer that is, if it can be told.
struct Unreadable {
  std::optional<Id> id;
  Fault fault;
};

std::variant<Message, Unreadable> read_message(std::string_view line);

// ---- Lines to send, without their end. What is passed as JSON must be in one line.

/// A result with what `members` writes into it.
std::string result_line(const Id& id, const std::function<void(JsonWriter&)>& members);
/// Without an id where that could not be read.
std::string error_line(const std::optional<Id>& id, const Fault& fault);
/// `params` is an object as JSON.
std::string notification_line(std::string_view method, std::string_view params);
std::string request_line(std::uint64_t id, std::string_view method, std::string_view params);

}  // namespace berth::mcp
