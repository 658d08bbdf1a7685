// SPDX-License-Identifier: Apache-2.0
// Callers that wait until the journal survives a power cut. One copy of it serves all that asked
// before it began. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "server/readable_watch.h"
#include "store/journal.h"

namespace berth::server {

class SyncQueue {
 public:
  using Then = std::function<void(const Status&)>;

  /// `descriptor`: of the journal, readable when it may have done what it was asked for; absent: it
  /// does that at once.
  SyncQueue(boost::asio::io_context& io, store::Journal& journal, std::optional<int> descriptor);

  /// Calls `then` from a later flush(): once all that was written until now survives a power cut,
  /// or with the reason why it does not.
  void add(Then then);
  /// To be called after each turn of the event loop: the journal takes note of its copies whenever
  /// it writes.
  void flush();
  bool empty() const { return waiting_.empty(); }

 private:
  struct Waiting {
    std::uint64_t ticket = 0;
    Then then;
  };

  store::Journal& journal_;
  ReadableWatch watch_;
  std::vector<Waiting> waiting_;
};

}  // namespace berth::server
