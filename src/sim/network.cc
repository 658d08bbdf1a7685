// SPDX-License-Identifier: Apache-2.0
#include "sim/network.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/checked.h"

namespace berth::sim {

void Network::cut_all() {
  gate_ = nullptr;
  const auto cut = std::exchange(connections_, {});
  for (const auto& [id, connection] : cut) {
    if (connection.on_disconnect || !connection.ears.closed) continue;
    context_.clock.after(context_.random.spread({1'000}, milliseconds(1)), connection.ears.closed);
  }
}

std::optional<ConnectionId> Network::open(Ears ears) {
  if (gate_ == nullptr) return std::nullopt;
  const ConnectionId id{++last_id_};
  Connection& connection = connections_[id];
  connection.ears = std::move(ears);
  if (!calm_ && context_.random.chance(plan_.rate(Fault::kReaderStalls))) {
    context_.record_fault(Fault::kReaderStalls);
    connection.stalled_until =
        context_.clock.elapsed() + context_.random.spread(milliseconds(1), seconds(10));
  }
  return id;
}

Duration Network::delay(Duration& free) {
  Duration takes = context_.random.spread({5'000}, milliseconds(1));
  if (!calm_ && context_.random.chance(plan_.rate(Fault::kMessageSlow))) {
    context_.record_fault(Fault::kMessageSlow);
    takes = context_.random.spread(milliseconds(1), seconds(3));
  }
  free = std::max(free, context_.clock.elapsed() + takes);
  return {free.ns - context_.clock.elapsed().ns};
}

void Network::send_up(ConnectionId id, std::function<void()> arrive) {
  Connection& connection = connections_.at(id);
  context_.clock.after(delay(connection.up_free), [this, id, arrive = std::move(arrive)] {
    if (connections_.contains(id)) arrive();
  });
}

void Network::ask(ConnectionId connection, server::Command ask, server::Engine::Listen listen) {
  if (!connections_.contains(connection)) return;
  if (!calm_ && context_.random.chance(plan_.rate(Fault::kMessageCut))) {
    // Half of it arrives, and the server drops it with the connection.
    context_.record_fault(Fault::kMessageCut);
    const Ears ears = connections_.at(connection).ears;
    close(connection);
    if (ears.closed) context_.clock.after(milliseconds(1), ears.closed);
    return;
  }
  send_up(connection, [this, connection, ask = std::move(ask), listen] {
    gate_->asked(connection, ask, listen);
  });
}

void Network::close(ConnectionId connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end() || found->second.on_disconnect) return;
  found->second.on_disconnect = true;
  send_up(connection, [this, connection] {
    connections_.erase(connection);
    gate_->on_disconnect(connection);
  });
}

void Network::ask_once(const server::Command& ask,
                       std::function<void(const server::Answer&)> answered) {
  const auto id = std::make_shared<std::optional<ConnectionId>>();  // Known after its ears are.
  const auto opened =
      open({.answer =
                [this, id, answered = std::move(answered)](const server::Answer& answer) {
                  close(checked(*id));
                  if (answered) answered(answer);
                },
            .item = {},
            .closed = {}});
  *id = opened;
  if (opened) this->ask(*opened, ask, server::Engine::Listen::kAnswer);
}

void Network::send_down(ConnectionId id, std::function<void(const Ears&)> arrive) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  context_.clock.after(delay(found->second.down_free), [this, id, arrive = std::move(arrive)] {
    const auto still = connections_.find(id);
    if (still == connections_.end() || still->second.on_disconnect) return;
    const Ears ears = still->second.ears;  // What it does may close the connection.
    arrive(ears);
  });
}

void Network::answer(ConnectionId connection, const server::Answer& answer) {
  send_down(connection, [answer](const Ears& ears) {
    if (ears.answer) ears.answer(answer);
  });
}

void Network::item(ConnectionId connection, const server::Item& item) {
  send_down(connection, [item](const Ears& ears) {
    if (ears.item) ears.item(item);
  });
}

bool Network::takes_news(ConnectionId connection) const {
  const auto found = connections_.find(connection);
  return found != connections_.end() && found->second.stalled_until <= context_.clock.elapsed();
}

}  // namespace berth::sim
