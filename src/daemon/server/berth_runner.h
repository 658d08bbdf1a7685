// SPDX-License-Identifier: Apache-2.0
// Runs `berth` for a page: what it prints of files and settings that the daemon itself reads
// nothing of. As the user that the daemon runs as, and never for others. The event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/child_reaper.h"

namespace berth::server {

class BerthRunner {
 public:
  static constexpr std::size_t kAtOnce = 4;
  static constexpr std::size_t kPrintedMax = std::size_t{2} << 20U;
  /// What it printed, without the end of its last line. kConflict: kAtOnce are under way.
  using Then = std::function<void(const Result<std::string>& printed)>;
  using Run = std::function<void(std::vector<std::string> arguments, Then then)>;

  /// `socket`: the daemon's, which it asks.
  BerthRunner(boost::asio::io_context& io, std::string socket);
  ~BerthRunner();
  BerthRunner(const BerthRunner&) = delete;
  BerthRunner& operator=(const BerthRunner&) = delete;

  /// `then` is called once, from the event loop, and not before this returns. How it ended is not
  /// told: what it prints for programs says that.
  void run(std::vector<std::string> arguments, Then then);

 private:
  struct Running;

  Result<std::unique_ptr<Running>> start(std::vector<std::string> arguments) const;
  void wait_readable(std::uint64_t number);
  void readable(std::uint64_t number);
  void finish(std::uint64_t number, const Result<std::string>& printed);

  boost::asio::io_context& io_;
  const std::string socket_;
  std::map<std::uint64_t, std::unique_ptr<Running>> running_;
  std::uint64_t last_number_ = 0;
  ChildReaper reaper_;
};

}  // namespace berth::server
