// SPDX-License-Identifier: Apache-2.0
#include "http/door_keeper.h"

#include "base/check.h"

namespace berth::http {

wire::DoorRequest at_the_door(const Request& request) {
  return {.method = request.method,
          .path = path_of(request.target),
          .host = request.header("Host"),
          .origin = request.header("Origin"),
          .authorization = request.header("Authorization"),
          .cookie = request.header("Cookie"),
          .key = request.header(wire::kKeyHeader),
          .content_type = request.header("Content-Type"),
          .has_body = !request.body.empty()};
}

void DoorKeeper::requested(ConnectionId connection, Request request) {
  if (const auto refused = wire::refused_at(door_, at_the_door(request))) {
    CHECK(transport_ != nullptr);
    return transport_->answer(
        connection, {.status = refused->status, .body = wire::encode_error(refused->error)});
  }
  behind_.requested(connection, std::move(request));
}

}  // namespace berth::http
