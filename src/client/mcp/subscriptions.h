// SPDX-License-Identifier: Apache-2.0
// Subscriptions of one client to changes of resources: by requests that listen for as long as they
// are under way (the modern era), or one by one (the legacy era). Pure; not shared between threads.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mcp/effect.h"
#include "mcp/fault.h"
#include "mcp/message.h"

namespace berth::mcp {

inline constexpr std::size_t kListenersMax = 8;
inline constexpr std::size_t kSubscribedMax = 64;  // Resources of one listener, or of the client.

class Subscriptions {
 public:
  using Uris = std::set<std::string, std::less<>>;

  /// Of the modern era: the first line that the request hears, or why it may not listen.
  std::variant<Send, Fault> listen(const Id& request, Uris uris);
  bool is_listening(const Id& request) const;
  /// Nothing more is sent to it.
  void cancel(const Id& request);

  /// Of the legacy era. Absent: it is done.
  std::optional<Fault> subscribe(std::string_view uri);
  void unsubscribe(std::string_view uri);

  std::vector<Send> changed(std::string_view uri) const;
  /// Ends all of them; the requests that listened are still to be answered.
  std::vector<Id> close();

 private:
  struct Listener {
    Id request;
    Uris uris;
  };
  std::vector<Listener> listeners_;
  Uris subscribed_;
};

}  // namespace berth::mcp
