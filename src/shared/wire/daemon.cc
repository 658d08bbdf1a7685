// SPDX-License-Identifier: Apache-2.0
#include "wire/daemon.h"

#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

constexpr JsonDocument::Form kDaemonAnswer = {
    .what = "the daemon's answer", .manner = Manner::kLenient, .size_max = limits::kBodyMax};

}  // namespace

std::string encode_version(const ServerHello& hello) {
  return answer_text(hello);
}

Result<ServerHello> decode_version(std::string_view text) {
  return read_answer<ServerHello>(text, kDaemonAnswer);
}

std::string encode_daemon(const DaemonView& daemon) {
  return answer_text(daemon);
}

Result<DaemonView> decode_daemon(std::string_view text) {
  return read_answer<DaemonView>(text, kDaemonAnswer);
}

std::string encode_dashboard_code(const DashboardCode& code) {
  return answer_text(code);
}

Result<DashboardCode> decode_dashboard_code(std::string_view text) {
  return read_answer<DashboardCode>(text, kDaemonAnswer);
}

}  // namespace berth::wire
