// SPDX-License-Identifier: Apache-2.0
#include "server/said_hello.h"

#include "server/translate.h"

namespace berth::server {

using wire::error_of;

std::variant<std::optional<Process>, wire::ApiError> process_of(
    const std::optional<std::string>& said, const wire::ServerHello& ours, const os::Peer& peer,
    wire::Route route) {
  if (!said) return std::optional<Process>();
  const Result<wire::ClientHello> hello = wire::decode_client_hello(*said);
  if (!hello.ok()) return wire::to_api_error(hello.error());
  const Status versions = wire::check_versions({.api = hello->api, .version = hello->version},
                                               {.api = ours.api, .version = ours.version});
  if (!versions.ok()) return error_of(wire::code::kVersion, versions.error().message);
  const Status worlds = wire::check_worlds(hello->world, ours.world);
  if (!worlds.ok()) return error_of(wire::code::kWrongWorld, worlds.error().message);
  const std::optional<Process>& process = hello->process;
  if (!process) return process;
  const Status verified = os::verify(peer, *process);
  if (verified.ok()) return process;
  if (names_processes(route)) {
    return error_of(wire::code::kWrongProcess, verified.error().message);
  }
  return std::optional<Process>();
}

}  // namespace berth::server
