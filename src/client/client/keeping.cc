// SPDX-License-Identifier: Apache-2.0
#include "client/keeping.h"

#include <utility>
#include <variant>

#include "wire/error.h"
#include "wire/lease.h"

namespace berth::client {

Result<LeaseView> lease_in(const Arrival& arrival) {
  if (const auto* answer = std::get_if<Answer>(&arrival)) {
    return Error{Errc::kConflict, wire::decode_error(answer->body).message};
  }
  const auto* event = std::get_if<wire::SseEvent>(&arrival);
  if (event == nullptr) return Error{Errc::kUnavailable, "the daemon told nothing"};
  TRY(lease, wire::decode_lease(event->data));
  return std::move(lease.view);
}

Result<LeaseView> keep_request(const Client& client, const LeaseView& queued, Duration within) {
  TRY(connection, client.another());
  TRY_STATUS(connection.send({.route = wire::Route::kReconnect,
                              .lease = to_text(queued.handle),
                              .body = ReconnectBody{.restarts = queued.restarts, .keep = true}}));
  TRY(arrival, connection.wait(within));
  return lease_in(arrival);
}

}  // namespace berth::client
