// SPDX-License-Identifier: Apache-2.0
// The client as it describes itself: which protocol it speaks, what it is called, and what it can
// be asked for. None of it is checked by anybody, so that nothing may be allowed for it. Pure; any
// thread.
//
// Note [Two eras]
//
// The protocol of 2026-07-28 has no handshake: each request says in `params._meta` which version it
// is of and what the client can do. That is the modern era. Before it a client said so once, by
// `initialize`: the legacy era. A connection serves both, and each request as it comes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "mcp/fault.h"
#include "mcp/message.h"

namespace berth::mcp {

/// See Note [Two eras].
enum class Era : std::uint8_t { kModern, kLegacy };

/// The best first.
inline constexpr std::array<std::string_view, 1> kModernVersions = {"2026-07-28"};
inline constexpr std::array<std::string_view, 3> kLegacyVersions = {"2025-11-25", "2025-06-18",
                                                                    "2025-03-26"};

namespace meta {
inline constexpr std::string_view kVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kCapabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kClientInfo = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kServerInfo = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view kSubscription = "io.modelcontextprotocol/subscriptionId";
}  // namespace meta

/// What a client can be asked for during a call.
enum class Ability : std::uint8_t {
  kForm,  // Its user fills in a form.
  kUrl,   // Its user opens a page.
  kSampling,
  kRoots,
};
/// The method by which it is asked for that.
std::string_view method_of(Ability ability);
/// The capabilities that a client declares for it, as JSON.
std::string_view capabilities_of(Ability ability);

struct Client {
  std::string name = {};  // Empty: it did not say.
  std::string version = {};
  std::array<bool, 4> abilities = {};
  bool can(Ability ability) const { return abilities.at(static_cast<std::size_t>(ability)); }
};
Client client_of(const Object& info, const Object& capabilities);

/// Whether the parameters claim to be of the modern era, rightly or not.
bool is_modern(const Object& params);
/// The client of a modern request, or what is wrong with what it says.
std::variant<Client, Fault> modern_client(const Object& params);
/// The version that an `initialize` for that one is answered with.
std::string_view legacy_version(std::string_view wanted);

}  // namespace berth::mcp
