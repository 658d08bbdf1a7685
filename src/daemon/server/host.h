// SPDX-License-Identifier: Apache-2.0
// The daemon around a service, as the service sees it. One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/ids.h"
#include "base/result.h"
#include "core/event.h"
#include "model/bodies.h"
#include "wire/daemon.h"
#include "wire/error.h"
#include "wire/viewer.h"

namespace berth::server {

/// What only the daemon around it knows or can do.
class Host {
 public:
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  virtual ~Host() = default;

  virtual wire::DaemonView describe(core::Now now) const = 0;
  /// After this turn of the event loop: jobs go on.
  virtual void stop() = 0;
  /// The configuration is taken over as a whole, or rejected as a whole.
  virtual Status reload() = 0;
  /// A user is seen: their name is looked up the first time.
  virtual void meet(UserId user) = 0;
  virtual const wire::UserNames& names() const = 0;
  virtual bool is_admin(UserId user) const = 0;
  virtual Result<UserId> owner_of(Process process) const = 0;
  /// A code that opens a session of that user, or the end of theirs.
  virtual Result<wire::DashboardCode> dashboard(UserId user, const DashboardBody& asked) = 0;
};

/// The answer to POST /v1/dashboard of that user. Over the socket alone: there the kernel says who
/// asks.
std::variant<std::string, wire::ApiError> dashboard_json(Host& host, UserId user, bool at_socket,
                                                         std::string_view body);

/// Of what only the daemon's own user, root and admins may do.
std::optional<wire::ApiError> not_in_charge(const core::Actor& actor, UserId own_user,
                                            std::string_view of_what);

}  // namespace berth::server
