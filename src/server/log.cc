// SPDX-License-Identifier: Apache-2.0
#include "server/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "os/files.h"

namespace berth::server {
namespace {

// Lines of others may hold anything: one record stays one line.
std::string one_line(const std::string& text) {
  std::string line = text;
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

spdlog::level::level_enum level_of(config::LogLevel level) {
  switch (level) {
    case config::LogLevel::kError:
      return spdlog::level::err;
    case config::LogLevel::kWarn:
      return spdlog::level::warn;
    case config::LogLevel::kInfo:
      return spdlog::level::info;
    case config::LogLevel::kDebug:
      break;
  }
  return spdlog::level::debug;
}

std::unique_ptr<spdlog::formatter> formatter() {
  return std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ berthd[%P] %l: %v",
                                                     spdlog::pattern_time_type::utc);
}

}  // namespace

Log::Log()
    : logger_(std::make_shared<spdlog::logger>("berthd",
                                               std::make_shared<spdlog::sinks::stderr_sink_st>())) {
  logger_->set_formatter(formatter());
  logger_->flush_on(spdlog::level::debug);
}

Log::~Log() = default;

Status Log::move_to_file(const std::string& path) {
  TRY_STATUS(os::refuse_link(path));
  try {
    logger_ = std::make_shared<spdlog::logger>(
        "berthd",
        std::make_shared<spdlog::sinks::rotating_file_sink_st>(path, kFileMax, kFilesMax));
  } catch (const spdlog::spdlog_ex& error) {
    return Error{Errc::kCannotCreate, std::string("cannot write the log: ") + error.what()};
  }
  logger_->set_formatter(formatter());
  logger_->flush_on(spdlog::level::debug);
  set_level(level_);
  return Unit{};
}

void Log::set_level(config::LogLevel level) {
  level_ = level;
  logger_->set_level(level_of(level));
}

void Log::error(const std::string& text) {
  logger_->error("{}", one_line(text));
}
void Log::warn(const std::string& text) {
  logger_->warn("{}", one_line(text));
}
void Log::info(const std::string& text) {
  logger_->info("{}", one_line(text));
}
void Log::debug(const std::string& text) {
  logger_->debug("{}", one_line(text));
}

}  // namespace berth::server
