// SPDX-License-Identifier: Apache-2.0
// The messages to the holder of one lease, as far as they survive: the last few, in order. Changed
// by records alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/message.h"
#include "model/record.h"

namespace berth::core {

class MessageTable {
 public:
  MessageTable() = default;
  explicit MessageTable(std::vector<Message> all) : all_(std::move(all)) {}

  /// False, and nothing changes, where the fact does not fit.
  bool take(const MessageSent& fact, const Record& record);
  bool take(const MessageAnswered& fact, const Record& record);

  /// In order of their numbers.
  const std::vector<Message>& all() const { return all_; }
  std::uint64_t next_number() const { return all_.empty() ? 1 : all_.back().number + 1; }
  /// Null: there is none, or it is not kept any more.
  const Message* find(std::uint64_t number) const;
  /// Those that nobody has answered.
  std::vector<const Message*> unanswered() const;
  /// The last that a rule of the holder answered; null: none.
  const Message* last_by_rule() const;

 private:
  void make_place();

  std::vector<Message> all_;
};

/// What a record can be told to.
template <class Fact>
concept IsOfMessages = requires(MessageTable& table, const Fact& fact, const Record& record) {
  table.take(fact, record);
};

}  // namespace berth::core
