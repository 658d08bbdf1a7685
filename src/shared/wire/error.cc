// SPDX-License-Identifier: Apache-2.0
#include "wire/error.h"

#include <array>
#include <optional>
#include <utility>

#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

struct Row {
  std::string_view code;
  std::uint16_t http_status;
  ExitCode exit;
};

// The refusals first, in the order of RefusalCode.
constexpr std::array kRows = {
    Row{"invalid", 400, ExitCode::kUsage},
    Row{"never_fits", 422, ExitCode::kUsage},
    Row{"no_device", 503, ExitCode::kUnavailable},
    Row{"busy", 409, ExitCode::kTryLater},
    Row{"queue_full", 429, ExitCode::kTryLater},
    Row{"not_found", 404, ExitCode::kNoInput},
    Row{"not_yours", 403, ExitCode::kNoPermission},
    Row{"wrong_state", 409, ExitCode::kFailed},
    Row{"would_wait_on_itself", 409, ExitCode::kNoPermission},
    Row{"would_wait_for_each_other", 409, ExitCode::kTryLater},
    Row{"inside_lease", 409, ExitCode::kNoPermission},
    Row{"disk_full", 507, ExitCode::kIoError},
    Row{"safe_mode", 503, ExitCode::kUnavailable},
    Row{"not_supported", 501, ExitCode::kUsage},
    Row{"ambiguous", 409, ExitCode::kUsage},
    Row{"not_moved", 409, ExitCode::kFailed},
    Row{"not_requeued", 409, ExitCode::kFailed},
    Row{"running", 409, ExitCode::kFailed},
    Row{code::kBadRequest, 400, ExitCode::kUsage},
    // A client that asks for what only a newer daemon knows.
    Row{code::kUnknownField, 400, ExitCode::kVersion},
    Row{code::kTooLarge, 413, ExitCode::kUsage},
    Row{code::kTimeout, 408, ExitCode::kTryLater},
    Row{code::kMethodNotAllowed, 405, ExitCode::kVersion},
    Row{code::kWrongWorld, 409, ExitCode::kConfig},
    Row{code::kWrongProcess, 403, ExitCode::kNoPermission},
    Row{code::kVersion, 426, ExitCode::kVersion},
    Row{code::kTooMany, 429, ExitCode::kTryLater},
    Row{code::kTooFast, 429, ExitCode::kTryLater},
    Row{code::kTooManyConnections, 503, ExitCode::kTryLater},
    Row{code::kInternal, 500, ExitCode::kInternal},
    Row{code::kStopping, 503, ExitCode::kUnavailable},
};

const Row* find(std::string_view code) {
  for (const Row& row : kRows) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

std::string_view word_of(Errc code) {
  switch (code) {
    case Errc::kInvalid:
      return code::kBadRequest;
    case Errc::kNotFound:
      return code::kUnknownField;
    case Errc::kFull:
      return code::kTooLarge;
    case Errc::kVersion:
      return code::kVersion;
    case Errc::kExhausted:
    case Errc::kPermission:
    case Errc::kUnavailable:
    case Errc::kTimedOut:
    case Errc::kIo:
    case Errc::kCorrupt:
    case Errc::kConflict:
    case Errc::kCannotCreate:
      break;
  }
  return code::kInternal;
}

}  // namespace

ApiError error_of(std::string_view code, std::string message) {
  return {std::string(code), std::move(message)};
}

ApiError error_of(RefusalCode code, std::string message) {
  return error_of(to_text(code), std::move(message));
}

ApiError to_api_error(const Refusal& refusal) {
  return error_of(refusal.code, refusal.message);
}

ApiError to_api_error(const Error& error) {
  return error_of(word_of(error.code), error.message);
}

std::uint16_t http_status(std::string_view code) {
  const Row* row = find(code);
  return row == nullptr ? find(code::kInternal)->http_status : row->http_status;
}

ExitCode exit_code(std::string_view code) {
  const Row* row = find(code);
  return row == nullptr ? ExitCode::kFailed : row->exit;
}

std::vector<std::string_view> error_words() {
  std::vector<std::string_view> words;
  words.reserve(kRows.size());
  for (const Row& row : kRows) words.push_back(row.code);
  return words;
}

std::string encode_error(const ApiError& error) {
  return R"({"error":)" + answer_text(error) + "}";
}

ApiError decode_error(std::string_view body) {
  constexpr std::size_t kQuotedMax = 200;
  JsonDocument document(body, {"the daemon's answer", Manner::kLenient, limits::kBodyMax});
  ApiError error;
  if (std::optional<ObjectReader> object = document.root().object("error")) {
    UserNames nobody;
    FieldReader<side::kAnswer>(nobody).object(*object, error);
  }
  if (document.status().ok() && !error.code.empty()) return error;
  return error_of(code::kInternal,
                  body.empty() ? "the daemon gave no reason"
                               : "the daemon answered: " + std::string(body.substr(0, kQuotedMax)));
}

}  // namespace berth::wire
