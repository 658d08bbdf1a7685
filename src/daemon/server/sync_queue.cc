// SPDX-License-Identifier: Apache-2.0
#include "server/sync_queue.h"

#include <utility>

namespace berth::server {

SyncQueue::SyncQueue(boost::asio::io_context& io, store::Journal& journal,
                     std::optional<int> descriptor)
    : journal_(journal) {
  if (descriptor) watch_.listen(io, *descriptor, [this] { (void)journal_.synced(); });
}

void SyncQueue::add(Then then) {
  waiting_.push_back({.ticket = journal_.sync(), .then = std::move(then)});
}

void SyncQueue::flush() {
  if (waiting_.empty()) return;
  const store::SyncProgress progress = journal_.synced();
  std::vector<Waiting> still;
  for (Waiting& one : std::exchange(waiting_, {})) {
    if (one.ticket <= progress.done) {
      one.then(Unit{});
    } else if (progress.trouble) {
      one.then(*progress.trouble);
    } else {
      still.push_back(std::move(one));
    }
  }
  // What was added meanwhile comes behind.
  for (Waiting& one : waiting_) still.push_back(std::move(one));
  waiting_ = std::move(still);
}

}  // namespace berth::server
