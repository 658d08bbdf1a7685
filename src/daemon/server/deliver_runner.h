// SPDX-License-Identifier: Apache-2.0
// Has a berth-deliver for each try of a message, and hears what came of it: a child, or one that
// systemd starts behind a socket of the machine's daemon, with less rights than any child of its
// could have. The event loop's thread.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "os/child.h"
#include "os/paths.h"
#include "server/child_reaper.h"
#include "wire/delivery.h"

namespace berth::server {

class DeliverRunner {
 public:
  using Then = std::function<void(const wire::DeliveryOutcome&)>;

  /// In system mode `directory` is where `deliver.sock` and `command.sock` lie, for webhooks and
  /// for commands. A child where one is not there, and in user mode.
  DeliverRunner(boost::asio::io_context& io, os::Mode mode, std::string directory);
  /// What is under way ends with this process, and is tried again by the next daemon.
  ~DeliverRunner();
  DeliverRunner(const DeliverRunner&) = delete;
  DeliverRunner& operator=(const DeliverRunner&) = delete;

  /// `then` is called once, from the event loop.
  void deliver(const wire::Delivery& delivery, Then then);

 private:
  struct Running;

  Result<os::Child> start(const wire::Delivery& delivery);
  std::string socket_for(const wire::Delivery& delivery) const;
  void wait_readable(std::uint64_t number);
  void readable(std::uint64_t number);
  void end(pid_t child);
  void finish(std::uint64_t number, const wire::DeliveryOutcome& outcome);

  boost::asio::io_context& io_;
  const os::Mode mode_;
  const std::string directory_;
  std::map<std::uint64_t, std::unique_ptr<Running>> running_;
  std::uint64_t last_number_ = 0;
  ChildReaper reaper_;
};

}  // namespace berth::server
