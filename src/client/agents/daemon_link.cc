// SPDX-License-Identifier: Apache-2.0
#include "agents/daemon_link.h"

namespace berth::agents {

wire::ApiError error_of(const Error& error) {
  return wire::error_of(wire::error_word(client::exit_status_of(error)), error.message);
}

client::Client* DaemonLink::client(wire::ApiError& error) {
  if (client_) return &*client_;
  Result<client::Client> found = client::Client::connect(options_);
  if (!found.ok()) {
    error = error_of(found.error());
    return nullptr;
  }
  return &client_.emplace(*std::move(found));
}

// A connection that was lost while nothing was asked is made again, once.
Answered<std::string> DaemonLink::ask(const client::HttpRequest& question) {
  wire::ApiError error;
  for (int attempt = 0; attempt < 2; ++attempt) {
    client::Client* client = this->client(error);
    if (client == nullptr) return error;
    Result<client::Answer> answer = client->connection().ask(question);
    if (answer.ok() && answer->ok()) return std::move(answer->body);
    if (answer.ok()) return wire::decode_error(answer->body);
    error = error_of(answer.error());
    const bool was_heard = client->connection().has_heard();
    client_.reset();
    if (was_heard) break;  // It may have been done.
  }
  return error;
}

Answered<client::Connection> DaemonLink::connect() {
  wire::ApiError error;
  for (int attempt = 0; attempt < 2; ++attempt) {
    client::Client* client = this->client(error);
    if (client == nullptr) return error;
    Result<client::Connection> connection = client->another();
    if (connection.ok()) return *std::move(connection);
    error = error_of(connection.error());
    client_.reset();
  }
  return error;
}

}  // namespace berth::agents
