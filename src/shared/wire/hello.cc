// SPDX-License-Identifier: Apache-2.0
#include "wire/hello.h"

#include <cstddef>
#include <map>

#include "base/number.h"
#include "wire/limits.h"
#include "wire/url.h"

namespace berth::wire {
namespace {

using Parts = std::map<std::string, std::string, std::less<>>;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

Error bad_hello(std::string_view why) {
  return {Errc::kInvalid, "the header Berth-Hello " + std::string(why)};
}

Result<Parts> split_parts(std::string_view header) {
  if (header.size() > limits::kHelloMax) return bad_hello("is too long");
  Parts parts;
  while (!header.empty()) {
    const std::size_t end = header.find(';');
    const std::string_view part = trimmed(header.substr(0, end));
    header.remove_prefix(end == std::string_view::npos ? header.size() : end + 1);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return bad_hello("has a part without '='");
    std::optional<std::string> value = percent_decode(part.substr(equals + 1));
    if (!value) return bad_hello("has a bad escape");
    if (value->size() > limits::kHelloPartMax) return bad_hello("has a part that is too long");
    if (!parts.emplace(part.substr(0, equals), *std::move(value)).second) {
      return bad_hello("gives a part twice");
    }
  }
  return parts;
}

std::string_view part_of(const Parts& parts, std::string_view name) {
  const auto at = parts.find(name);
  return at == parts.end() ? std::string_view{} : std::string_view(at->second);
}

Result<ApiVersion> api_of(const Parts& parts) {
  const std::optional<ApiVersion> api = parse_api_version(part_of(parts, "api"));
  if (!api) return bad_hello("must say api=MAJOR.MINOR");
  return *api;
}

std::string common_parts(ApiVersion api, std::string_view version, std::string_view world) {
  return "api=" + to_text(api) + "; version=" + percent_encode(version) +
         "; world=" + percent_encode(world);
}

}  // namespace

std::string to_text(ApiVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

std::optional<ApiVersion> parse_api_version(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto major = parse_number<std::uint32_t>(text.substr(0, dot));
  const auto minor = parse_number<std::uint32_t>(text.substr(dot + 1));
  if (!major || !minor) return std::nullopt;
  return ApiVersion{*major, *minor};
}

std::string encode_hello(const ClientHello& hello) {
  std::string header = common_parts(hello.api, hello.version, hello.world);
  if (hello.process) {
    header += "; pid=" + std::to_string(hello.process->pid) +
              "; start=" + std::to_string(hello.process->start_ticks);
  }
  return header;
}

std::string encode_hello(const ServerHello& hello) {
  return common_parts(hello.api, hello.version, hello.world) +
         "; simulated=" + (hello.simulated ? "1" : "0") + "; pid=" + std::to_string(hello.pid);
}

Result<ClientHello> decode_client_hello(std::string_view header) {
  TRY(parts, split_parts(header));
  TRY(api, api_of(parts));
  ClientHello hello{.api = api,
                    .version = std::string(part_of(parts, "version")),
                    .world = std::string(part_of(parts, "world")),
                    .process = std::nullopt};
  const std::string_view pid = part_of(parts, "pid");
  const std::string_view start = part_of(parts, "start");
  if (pid.empty() && start.empty()) return hello;
  const auto pid_value = parse_number<std::int32_t>(pid);
  const auto start_value = parse_number<std::uint64_t>(start);
  if (!pid_value || *pid_value <= 0 || !start_value) {
    return bad_hello("must say pid and start as numbers, or neither");
  }
  hello.process = Process{.pid = *pid_value, .start_ticks = *start_value};
  return hello;
}

Result<ServerHello> decode_server_hello(std::string_view header) {
  TRY(parts, split_parts(header));
  TRY(api, api_of(parts));
  const auto pid = parse_number<std::int32_t>(part_of(parts, "pid"));
  if (!pid || *pid <= 0) return bad_hello("must say pid as a number");
  return ServerHello{.api = api,
                     .version = std::string(part_of(parts, "version")),
                     .world = std::string(part_of(parts, "world")),
                     .simulated = part_of(parts, "simulated") == "1",
                     .pid = *pid};
}

Status check_versions(Speaker client, Speaker daemon) {
  const std::uint32_t low = std::min(client.api.minor, daemon.api.minor);
  const std::uint32_t high = std::max(client.api.minor, daemon.api.minor);
  if (client.api.major == daemon.api.major && high - low <= 1) return Unit{};
  const bool daemon_is_older = daemon.api < client.api;
  return Error{
      Errc::kVersion,
      "berth " + std::string(client.version) + " speaks API " + to_text(client.api) +
          ", the daemon (berthd " + std::string(daemon.version) + ") speaks " +
          to_text(daemon.api) + ": " +
          (daemon_is_older ? "restart the daemon with the newer berthd (berth daemon stop; "
                             "running commands go on)"
                           : "use the berth that belongs to the daemon, or a newer one")};
}

Status check_worlds(std::string_view client, std::string_view daemon) {
  if (client == daemon) return Unit{};
  const auto gpus = [](std::string_view world) {
    return world == kRealWorld ? std::string("real GPUs")
                               : "the simulated GPUs '" + std::string(world) + "'";
  };
  std::string message;
  if (daemon == kRealWorld) {
    message = "BERTH_SIM is set here; this daemon has real GPUs: unset BERTH_SIM or BERTH_SOCKET";
  } else {
    message = "this daemon has " + gpus(daemon) + ", you asked for " + gpus(client) +
              ": set BERTH_SIM and BERTH_SIM_NAME as the daemon has them, or unset BERTH_SOCKET";
  }
  return Error{Errc::kConflict, message};
}

}  // namespace berth::wire
