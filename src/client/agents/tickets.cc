// SPDX-License-Identifier: Apache-2.0
#include "agents/tickets.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "wire/request.h"

namespace berth::agents {
namespace {

using wire::EventName;

constexpr Duration kRetryEvery = milliseconds(500);

}  // namespace

Answered<Tickets::Number> Tickets::ask(const RequestBody& request) {
  if (tickets_.size() >= kTicketsMax) {
    return wire::error_of(wire::code::kTooMany,
                          "this client waits for " + std::to_string(kTicketsMax) +
                              " requests already: wait on for one of them, or release it");
  }
  Answered<client::Connection> connection = daemon_.connect();
  if (auto* error = std::get_if<wire::ApiError>(&connection)) return std::move(*error);
  Ticket ticket{.stream = std::get<client::Connection>(std::move(connection))};
  const Status sent = ticket.stream->send({.route = wire::Route::kSubmit, .body = request});
  if (!sent.ok()) return error_of(sent.error());
  tickets_.emplace(++last_, std::move(ticket));
  return last_;
}

std::optional<Tickets::Number> Tickets::find(LeaseId lease) const {
  const auto found = std::ranges::find_if(tickets_, [lease](const auto& entry) {
    return entry.second.lease && entry.second.lease->view.id == lease;
  });
  return found == tickets_.end() ? std::nullopt : std::optional(found->first);
}

void Tickets::look(Instant now) {
  for (auto& [number, ticket] : tickets_) {
    if (!ticket.stream && !ticket.is_over() && ticket.retry_at <= now) reconnect(ticket, now);
    if (ticket.stream) read(ticket, now);
  }
}

void Tickets::read(Ticket& ticket, Instant now) {
  while (ticket.stream) {
    Result<std::optional<client::Arrival>> received = ticket.stream->receive();
    if (received.ok() && !*received) return;
    if (received.ok()) {
      const client::Arrival& arrival = checked(*received);
      if (const auto* event = std::get_if<wire::SseEvent>(&arrival)) {
        take(ticket, *event);
        continue;
      }
      if (const auto* answer = std::get_if<client::Answer>(&arrival)) {
        ticket.refusal = wire::decode_error(answer->body);
      }
    }
    // The stream is over; where nothing came of it, the daemon was lost.
    ticket.stream.reset();
    ticket.retry_at = now + kRetryEvery;
    if (!ticket.is_over() && !ticket.lease) {
      ticket.refusal = received.ok() ? wire::error_of(wire::code::kStopping, "the daemon has ended")
                                     : error_of(received.error());
    }
  }
}

void Tickets::take(Ticket& ticket, const wire::SseEvent& event) {
  // Why it waits is asked when a call wants to know.
  if (event.event == to_text(EventName::kWaiting)) return;
  Result<wire::LeaseAnswer> lease = wire::decode_lease(event.data);
  if (!lease.ok()) return;
  ticket.lease = *std::move(lease);
  if (event.event == to_text(EventName::kGranted)) ticket.is_granted = true;
  if (event.event == to_text(EventName::kEnded)) {
    ticket.refusal = ticket.lease->refusal.value_or(
        wire::error_of(wire::code::kFailed, "the request has ended"));
  }
}

// As berth run does: it keeps its place in the queue.
void Tickets::reconnect(Ticket& ticket, Instant now) {
  ticket.retry_at = now + kRetryEvery;
  Answered<client::Connection> connection = daemon_.connect();
  if (std::holds_alternative<wire::ApiError>(connection)) return;
  ticket.stream = std::get<client::Connection>(std::move(connection));
  const wire::LeaseAnswer& lease = checked(ticket.lease);
  const Status sent = ticket.stream->send({.route = wire::Route::kReconnect,
                                           .lease = to_text(lease.view.handle),
                                           .body = ReconnectBody{}});
  if (!sent.ok()) ticket.stream.reset();
}

std::vector<int> Tickets::descriptors() const {
  std::vector<int> all;
  for (const auto& [number, ticket] : tickets_) {
    if (ticket.stream) all.push_back(ticket.stream->descriptor());
  }
  return all;
}

Instant Tickets::wake_at() const {
  Instant at = Instant::never();
  for (const auto& [number, ticket] : tickets_) {
    if (!ticket.stream && !ticket.is_over()) at = std::min(at, ticket.retry_at);
  }
  return at;
}

}  // namespace berth::agents
