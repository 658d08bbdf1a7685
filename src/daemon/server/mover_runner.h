// SPDX-License-Identifier: Apache-2.0
// Starts a berth-mover for each move of a lease's memory, hears what came of it, and gives it up
// when the driver does not answer. The event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "core/effect.h"
#include "core/event.h"
#include "gpu/mover_task.h"
#include "os/child.h"
#include "server/child_reaper.h"

namespace berth::server {

class MoverRunner {
 public:
  /// `plan`: which program, and where it finds the driver. `done` is called from the event
  /// loop, once for each move().
  MoverRunner(boost::asio::io_context& io, os::ChildPlan plan,
              std::function<void(core::TransferDone)> done);
  ~MoverRunner();

  /// `directory`: of the lease; see mover_main.cc.
  void move(const core::Transfer& move, const std::string& directory);

 private:
  struct Running;

  Result<os::Child> start(const gpu::MoverTask& task);
  void wait_readable(std::uint64_t number);
  void readable(std::uint64_t number);
  void finish(std::uint64_t number, TransferResult result);

  boost::asio::io_context& io_;
  os::ChildPlan plan_;
  std::function<void(core::TransferDone)> done_;
  std::map<std::uint64_t, std::unique_ptr<Running>> running_;
  ChildReaper reaper_;
};

}  // namespace berth::server
