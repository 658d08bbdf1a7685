// SPDX-License-Identifier: Apache-2.0
#include "server/host.h"

#include "wire/request.h"

namespace berth::server {

std::variant<std::string, wire::ApiError> dashboard_json(Host& host, UserId user, bool at_socket,
                                                         std::string_view body) {
  const auto read = wire::decode<DashboardBody>(body);
  if (!read.ok()) return wire::to_api_error(read.error());
  if (!at_socket) {
    return wire::error_of(RefusalCode::kNotYours, "only a program at the daemon's socket has that");
  }
  const auto code = host.dashboard(user, *read);
  if (!code.ok()) return wire::error_of(RefusalCode::kBusy, code.error().message);
  return wire::encode_dashboard_code(*code);
}

std::optional<wire::ApiError> not_in_charge(const core::Actor& actor, UserId own_user,
                                            std::string_view of_what) {
  if (actor.admin || actor.user == own_user) return std::nullopt;
  return wire::error_of(
      RefusalCode::kNotYours,
      "only root, an admin ([access] admins) or the user it runs as may " + std::string(of_what));
}

}  // namespace berth::server
