// SPDX-License-Identifier: Apache-2.0
#include "wire/error.h"

#include <array>
#include <optional>
#include <utility>

#include "model/check_again.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

struct Row {
  std::string_view code;
  std::uint16_t http_status;
  ExitCode exit;
  std::string_view cure;
};

// The refusals first, in the order of RefusalCode.
constexpr std::array kRows = {
    Row{"invalid", 400, ExitCode::kUsage, "correct what the message names, and ask again"},
    Row{"never_fits", 422, ExitCode::kUsage,
        "ask for less memory or fewer GPUs; berth status shows what there is"},
    Row{"no_device", 503, ExitCode::kUnavailable, "berth doctor says what is missing"},
    Row{"busy", 409, ExitCode::kTryLater,
        "wait for a turn with --wait, or ask for less; berth why LEASE and berth fit SIZE say "
        "when"},
    Row{"queue_full", 429, ExitCode::kTryLater,
        "end leases or requests of your own that are not needed (berth ps), or ask again later"},
    Row{"not_found", 404, ExitCode::kNoInput, "berth ps --all lists the leases that there are"},
    Row{"not_yours", 403, ExitCode::kNoPermission,
        "only its owner or an administrator may; berth message LEASE TEXT asks its holder"},
    Row{"wrong_state", 409, ExitCode::kFailed, "berth show LEASE says in which state it is"},
    Row{"would_wait_on_itself", 409, ExitCode::kNoPermission,
        "run inside of the lease that you have, or ask for less"},
    Row{"would_wait_for_each_other", 409, ExitCode::kTryLater,
        "ask again later, or give back what you hold first"},
    Row{"inside_lease", 409, ExitCode::kNoPermission,
        "use the lease that you are inside of; berth resize LEASE -m SIZE makes it larger"},
    Row{"disk_full", 507, ExitCode::kIoError, "make room on the disk of the daemon's state"},
    Row{"safe_mode", 503, ExitCode::kUnavailable,
        "berth doctor says what is wrong with the daemon's state"},
    Row{"not_supported", 501, ExitCode::kUsage,
        "do without it here; berth doctor says what this machine can do"},
    Row{"ambiguous", 409, ExitCode::kUsage, "name the lease by its number"},
    Row{"not_moved", 409, ExitCode::kFailed, "berth why LEASE says what is in the way"},
    Row{"not_requeued", 409, ExitCode::kFailed, "berth show LEASE says what became of its save"},
    Row{"running", 409, ExitCode::kFailed,
        "end what runs first, or say so with the option that the message names"},
    Row{"exists", 409, ExitCode::kFailed,
        "use the lease that the error names; another key asks for another one"},
    Row{code::kBadRequest, 400, ExitCode::kUsage, "correct what the message names, and ask again"},
    // A client that asks for what only a newer daemon knows.
    Row{code::kUnknownField, 400, ExitCode::kVersion,
        "restart the daemon if it is older than this program (berth version)"},
    Row{code::kTooLarge, 413, ExitCode::kUsage, "send less at a time"},
    Row{code::kTimeout, 408, ExitCode::kTryLater, "ask again"},
    Row{code::kMethodNotAllowed, 405, ExitCode::kVersion,
        "restart the daemon if it is older than this program (berth version)"},
    Row{code::kWrongWorld, 409, ExitCode::kConfig,
        "set BERTH_SIM and BERTH_SOCKET as the daemon has them"},
    Row{code::kWrongProcess, 403, ExitCode::kNoPermission, "ask from the process that it is about"},
    Row{code::kVersion, 426, ExitCode::kVersion,
        "restart the daemon if it is older than this program (berth version)"},
    Row{code::kTooMany, 429, ExitCode::kTryLater,
        "close connections that are not needed, and ask again"},
    Row{code::kTooFast, 429, ExitCode::kTryLater, "ask again after retry_after_ms"},
    Row{code::kTooManyConnections, 503, ExitCode::kTryLater,
        "close connections that are not needed, and ask again"},
    Row{code::kInternal, 500, ExitCode::kInternal,
        "the daemon's log says more (berth doctor names it)"},
    Row{code::kStopping, 503, ExitCode::kUnavailable, "ask again in a moment"},
};

// What `berth` says of itself: no answer of the daemon has these.
constexpr std::array kOwnRows = {
    Row{code::kUsage, 400, ExitCode::kUsage, "berth VERB --help says how it is written"},
    Row{code::kUnavailable, 503, ExitCode::kUnavailable,
        "berth daemon start starts a daemon; berth doctor says what is missing"},
    Row{code::kBadData, 400, ExitCode::kDataError, "correct the file that the message names"},
    Row{code::kConfig, 400, ExitCode::kConfig, "berth config check names what is wrong, and where"},
    Row{code::kSystem, 500, ExitCode::kOsError, "the message says what the system refused"},
    Row{code::kIo, 500, ExitCode::kIoError, "make room on the disk that the message names"},
    Row{code::kFailed, 409, ExitCode::kFailed, "berth show LEASE says how it stands"},
};

const Row* find(std::string_view code) {
  for (const Row& row : kRows) {
    if (row.code == code) return &row;
  }
  for (const Row& row : kOwnRows) {
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
  ApiError error = error_of(refusal.code, refusal.message);
  const bool passes = refusal.code == RefusalCode::kBusy || refusal.code == RefusalCode::kQueueFull;
  if (passes) error.retry_after = kCheckAgainUnknown;
  error.lease = refusal.lease;
  return error;
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

std::string cure_of(std::string_view code) {
  const Row* row = find(code);
  return row == nullptr ? "" : std::string(row->cure);
}

std::string_view error_word(ExitCode exit) {
  if (exit == ExitCode::kVersion) return code::kVersion;
  for (const Row& row : kOwnRows) {
    if (row.exit == exit) return row.code;
  }
  for (const Row& row : kRows) {
    if (row.exit == exit) return row.code;
  }
  return code::kFailed;
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
