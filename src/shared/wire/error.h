// SPDX-License-Identifier: Apache-2.0
// An error as it is sent: a word for programs and a sentence for people. One table says for each
// word which HTTP status it travels with and which exit status the command line ends with. Any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/refusal.h"
#include "wire/exit_status.h"

namespace berth::wire {

/// What can be done about errors of that kind: a sentence, or nothing for a word that is not known.
std::string cure_of(std::string_view code);

struct ApiError {
  std::string code;  // A word of error_words(), or one of a newer daemon's.
  std::string message;
  std::optional<Duration> retry_after = {};  // Asked again then, it may be granted.
  std::optional<LeaseId> lease = {};
  friend bool operator==(const ApiError&, const ApiError&) = default;
};
constexpr auto fields_of(Is<ApiError> auto*) {
  return fields(
      {"ErrorBody", "Why something was refused."},
      field("code", &ApiError::code, "A word for programs.").required(side::kAnswer),
      field("message", &ApiError::message, "A sentence for people: names the thing and the cure.")
          .written(side::kAnswer),
      computed("cure", "What can be done about errors of this kind.",
               [](const ApiError& error) { return cure_of(error.code); }),
      field(
          "retry_after", &ApiError::retry_after,
          "With `too_fast`: asked again after this long, it is not. With `busy` and `queue_full`: "
          "when it is worth asking again.")
          .left_out(),
      field("lease", &ApiError::lease, "With `exists`: its number.").left_out());
}

// The words beside those of RefusalCode.
namespace code {
inline constexpr std::string_view kBadRequest = "bad_request";
inline constexpr std::string_view kUnknownField = "unknown_field";
inline constexpr std::string_view kTooLarge = "too_large";
inline constexpr std::string_view kTimeout = "timeout";
inline constexpr std::string_view kMethodNotAllowed = "method_not_allowed";
inline constexpr std::string_view kWrongWorld = "wrong_world";
inline constexpr std::string_view kWrongProcess = "wrong_process";
inline constexpr std::string_view kVersion = "version";
inline constexpr std::string_view kTooMany = "too_many";
inline constexpr std::string_view kTooFast = "too_fast";
inline constexpr std::string_view kTooManyConnections = "too_many_connections";
inline constexpr std::string_view kInternal = "internal";
inline constexpr std::string_view kStopping = "stopping";
// Those of `berth` itself, beside the daemon's.
inline constexpr std::string_view kUsage = "usage";
inline constexpr std::string_view kUnavailable = "unavailable";
inline constexpr std::string_view kBadData = "bad_data";
inline constexpr std::string_view kConfig = "config";
inline constexpr std::string_view kSystem = "system";
inline constexpr std::string_view kIo = "io";
inline constexpr std::string_view kFailed = "failed";
}  // namespace code

ApiError error_of(std::string_view code, std::string message);
ApiError error_of(RefusalCode code, std::string message);
ApiError to_api_error(const Refusal& refusal);
/// Of an Error that a decoder of this folder returned: kInvalid becomes bad_request, kNotFound (a
/// field that nobody knows) unknown_field, kFull too_large, kVersion version, all else internal.
ApiError to_api_error(const Error& error);

/// 500 for a word that is not in the table.
std::uint16_t http_status(std::string_view code);
/// kFailed for a word that is not in the table: a newer daemon understood and refused.
ExitCode exit_code(std::string_view code);
/// Of a failure of which nothing but that is known.
std::string_view error_word(ExitCode exit);
/// Every word of the table.
std::vector<std::string_view> error_words();

/// {"error":{"code":…,"message":…,"retry_after_ms":…}}, the last where there is one.
std::string encode_error(const ApiError& error);
/// The error of an answer whose status is not 2xx. Any text gives an error: one that is not ours
/// becomes `internal` with its beginning.
ApiError decode_error(std::string_view body);

}  // namespace berth::wire
