// SPDX-License-Identifier: Apache-2.0
// The Berth-Hello header: by it client and daemon say to each other, with every request and answer,
// which version they speak and which world they live in. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/words.h"

namespace berth::wire {

inline constexpr std::string_view kHelloHeader = "Berth-Hello";
inline constexpr std::string_view kRealWorld = "real";

struct ApiVersion {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  friend constexpr auto operator<=>(const ApiVersion&, const ApiVersion&) = default;
};
inline constexpr ApiVersion kApiVersion = {1, 0};
using berth::to_text;                     // Of words and of units, beside our own.
std::string to_text(ApiVersion version);  // "1.0"
std::optional<ApiVersion> parse_api_version(std::string_view text);

/// What a client says. The process is the caller's own as it sees it; the daemon compares it with
/// what the kernel says of the peer.
struct ClientHello {
  ApiVersion api = kApiVersion;
  std::string version;  // Of the program: "0.1.0".
  std::string world;    // kRealWorld, or the name of a simulated one.
  std::optional<Process> process;
  friend bool operator==(const ClientHello&, const ClientHello&) = default;
};

/// What the daemon says; as JSON the answer to GET /v1/version.
struct ServerHello {
  ApiVersion api = kApiVersion;
  std::string version;
  std::string world;
  bool simulated = false;
  std::int32_t pid = 0;
  friend bool operator==(const ServerHello&, const ServerHello&) = default;
};
constexpr auto fields_of(Is<ServerHello> auto*) {
  using Hello = ServerHello;
  return fields({"Version"},
                field("version", &Hello::version, "Of the daemon.").written(side::kAnswer),
                field("api", &Hello::api, "MAJOR.MINOR of this interface."),
                field("world", &Hello::world, "real, or the name of the simulated machine.")
                    .written(side::kAnswer),
                field("simulated", &Hello::simulated, "The GPUs are simulated."),
                field("pid", &Hello::pid, "Of the daemon."));
}

// "api=1.0; version=0.1.0; world=real; pid=123; start=456789"
std::string encode_hello(const ClientHello& hello);
std::string encode_hello(const ServerHello& hello);
/// kInvalid names the part that is wrong. Parts that nobody knows are ignored: a newer side may say
/// more. `api` must be there.
Result<ClientHello> decode_client_hello(std::string_view header);
Result<ServerHello> decode_server_hello(std::string_view header);

/// Whether two sides work together: one major number, and minor numbers that differ by one at most.
/// kVersion names both and the cure.
struct Speaker {
  ApiVersion api;
  std::string_view version;
};
Status check_versions(Speaker client, Speaker daemon);

/// kConflict names both worlds and the cure.
Status check_worlds(std::string_view client, std::string_view daemon);

}  // namespace berth::wire
