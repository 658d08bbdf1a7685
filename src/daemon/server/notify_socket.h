// SPDX-License-Identifier: Apache-2.0
// Tells a service manager how the daemon is, as systemd's sd_notify(3) does: a datagram to the
// socket that NOTIFY_SOCKET names. Without one it does nothing. Any thread.
#pragma once

#include <string>
#include <utility>

namespace berth::server {

class NotifySocket {
 public:
  /// The socket's path, or '@' and an abstract name; empty: nobody wants to know.
  explicit NotifySocket(std::string address) : address_(std::move(address)) {}

  /// That of the service manager which has started this process.
  static NotifySocket of_environment();

  void ready(const std::string& status) const;
  void reloading() const;
  void stopping() const;
  void alive() const;

 private:
  void send(const std::string& text) const;
  std::string address_;
};

}  // namespace berth::server
