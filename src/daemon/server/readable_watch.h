// SPDX-License-Identifier: Apache-2.0
// A descriptor in the event loop that another part owns: it is told whenever that is readable. The
// event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <utility>

namespace berth::server {

struct ReadableWatch {
  std::unique_ptr<boost::asio::posix::stream_descriptor> descriptor;

  /// Calls `heard` from the event loop each time the descriptor is readable.
  void listen(boost::asio::io_context& io, int fd, std::function<void()> heard) {
    descriptor = std::make_unique<boost::asio::posix::stream_descriptor>(io, fd);
    next(std::move(heard));
  }
  void next(std::function<void()> heard) {
    descriptor->async_wait(
        boost::asio::posix::stream_descriptor::wait_read,
        [this, heard = std::move(heard)](const boost::system::error_code& code) mutable {
          if (code) return;
          heard();
          next(std::move(heard));
        });
  }
  ~ReadableWatch() {
    if (descriptor) descriptor->release();  // Its owner closes it.
  }
};

}  // namespace berth::server
