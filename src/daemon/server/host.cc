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

}  // namespace berth::server
