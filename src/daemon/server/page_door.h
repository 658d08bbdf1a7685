// SPDX-License-Identifier: Apache-2.0
// The browser's side of the port: hands out the page, opens sessions by their codes, and passes
// requests of a session on as those of its user. All else goes to the door for programs. One
// thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "http/transport.h"
#include "os/clock.h"
#include "wire/browser_sessions.h"
#include "wire/door.h"

namespace berth::server {

class PageDoor final : public http::Handler {
 public:
  struct Ports {
    http::Handler& behind;
    wire::BrowserSessions& sessions;
    std::function<void()> sessions_changed;  // They have to be kept anew.
    const os::Clock& clock;
  };
  /// `programs`: the door that asks for the token, in front of the same handler.
  PageDoor(http::Handler& programs, Ports ports, wire::Door door);
  /// Before the first connection.
  void connect(http::Transport& transport) { transport_ = &transport; }

  void opened(ConnectionId connection, const os::Peer& peer) override {
    programs_.opened(connection, peer);
  }
  void requested(ConnectionId connection, http::Request request) override;
  void closed(ConnectionId connection) override { programs_.closed(connection); }

 private:
  std::optional<http::Answer> page_answer(const http::Request& request);
  http::Answer open(const http::Request& request);
  std::optional<http::Answer> refuse_guest(http::Request& request);

  http::Handler& programs_;
  const Ports ports_;
  const wire::Door door_;
  http::Transport* transport_ = nullptr;
};

/// The value of a field of a form, as application/x-www-form-urlencoded has it; empty: it has none.
std::string form_field(std::string_view form, std::string_view name);

}  // namespace berth::server
