// SPDX-License-Identifier: Apache-2.0
// Errors of the protocol, by the numbers that JSON-RPC 2.0 and the Model Context Protocol give
// them. A tool that fails is none of these: its result says so (mcp/outcome.h). Any thread.
#pragma once

#include <string>

namespace berth::mcp {

enum class Code : int {
  kParse = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternal = -32603,
  kResourceNotFound = -32002,   // Of the legacy era; the modern one says kInvalidParams.
  kHeaderMismatch = -32020,     // For HTTP, whose headers repeat what a message says.
  kMissingCapability = -32021,  // The client does not have what the call needs.
  kUnsupportedVersion = -32022,
};

struct Fault {
  Code code = Code::kInternal;
  std::string message;    // A sentence for people.
  std::string data = {};  // JSON; empty: there is none.
};

}  // namespace berth::mcp
