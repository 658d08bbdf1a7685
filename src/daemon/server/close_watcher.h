// SPDX-License-Identifier: Apache-2.0
// Tells when a program has closed the ledger of its lease, as each does that ends: in whatever
// namespaces it is, and however short it lived. By inotify; where that is not to be had nothing is
// told, and a part that needs to know looks by itself now and then. The event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/ids.h"
#include "base/units.h"
#include "server/budget_files.h"

namespace berth::server {

class CloseWatcher {
 public:
  /// The kernel tells it when a program begins to end; what it holds goes a moment later. And
  /// however often a file is closed, more often than this nothing is told.
  static constexpr Duration kLater = milliseconds(15);

  CloseWatcher(boost::asio::io_context& io, std::function<void(const std::set<Handle>&)> closed);

  /// Until the file is gone.
  void watch(Handle lease, const std::string& path);

 private:
  void await();
  void notify();

  boost::asio::posix::stream_descriptor events_;
  boost::asio::steady_timer timer_;
  std::function<void(const std::set<Handle>&)> closed_;
  std::map<int, Handle> watched_;
};

/// Has the dead of those leases looked for that a program has ended in, and `died` called, which is
/// to have the driver asked.
std::unique_ptr<CloseWatcher> watch_ledgers(boost::asio::io_context& io, BudgetFiles& files,
                                            const std::function<void()>& died);

}  // namespace berth::server
