// SPDX-License-Identifier: Apache-2.0
#include "cli/alert_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "client/configuration.h"
#include "config/print.h"
#include "os/files.h"
#include "os/users.h"

namespace berth::cli {
namespace {

constexpr const char* kHead =
    "# Rules for alerts, written by `berth alert`; docs/alerts.md says what they mean.\n";

std::string heading_of(const std::string& rule) {
  return "[alert." + rule + "]\n";
}

void remove_if_there(const std::string& path) {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove(path, ignored);
}

// Where the lines of a rule begin; npos: it has none.
std::size_t find_heading(const std::string& text, const std::string& rule) {
  const std::string heading = heading_of(rule);
  if (text.starts_with(heading)) return 0;
  const std::size_t at = text.find("\n" + heading);
  return at == std::string::npos ? at : at + 1;
}

}  // namespace

Result<AlertFile> AlertFile::open(const os::Environment& env, os::Mode mode, UserId daemon) {
  const os::ConfigPaths paths = os::config_paths(env);
  const bool user = mode == os::Mode::kUser;
  const std::string path = user ? paths.user_alerts : paths.system_alerts;
  // The machine's rules are read by its daemon and by all users, no matter who makes their folder.
  TRY_STATUS(os::make_directories(path.substr(0, path.rfind('/')), user ? 0700 : 0755));
  TRY(lock, os::FileLock::wait(path + ".lock"));
  AlertFile file(std::move(lock));
  file.path_ = path;
  file.daemon_ = daemon;
  file.kind_ = user ? config::File::Kind::kUser : config::File::Kind::kMachine;
  TRY(found, client::find_configuration(env, "/", client::ProjectFile::kIgnore));
  file.input_ = std::move(found.input);
  file.input_.mode = user ? config::Mode::kUser : config::Mode::kSystem;
  std::erase_if(file.input_.files, [&](const config::File& one) {
    if (one.path == file.path_) {
      file.text_ = one.text;
      file.was_there_ = true;
      return true;
    }
    return !user && one.kind == config::File::Kind::kUser;
  });
  file.before_ = file.text_;
  return file;
}

Result<config::Config> AlertFile::load() const {
  config::Input whole = input_;
  whole.files.push_back({.kind = kind_, .path = path_, .text = text_});
  auto result = config::load(whole);
  if (auto* loaded = std::get_if<config::Loaded>(&result)) return std::move(loaded->config);
  std::string text;
  for (const config::Problem& problem : std::get<config::Problems>(result)) {
    text += (text.empty() ? "" : "\n") + to_text(problem);
  }
  return Error{Errc::kInvalid, text};
}

std::optional<std::string> AlertFile::set_elsewhere(const std::string& rule) const {
  const auto result = config::load(input_);
  const auto* loaded = std::get_if<config::Loaded>(&result);
  if (loaded == nullptr) return std::nullopt;
  for (const auto& [key, origin] : loaded->config.origins) {
    if (key.starts_with("alert." + rule + ".")) return to_text(origin);
  }
  return std::nullopt;
}

bool AlertFile::has(const std::string& rule) const {
  return find_heading(text_, rule) != std::string::npos;
}

// /etc/berth/webhooks/RULE.url, for the rules in /etc/berth/conf.d.
std::string AlertFile::webhook_file_of(const std::string& rule) const {
  const std::string folder = path_.substr(0, path_.rfind('/'));
  return folder.substr(0, folder.rfind('/')) + "/webhooks/" + rule + ".url";
}

Status AlertFile::put(const std::string& rule, config::AlertRule what) {
  if (text_.empty()) text_ = kHead;
  if (kind_ == config::File::Kind::kMachine && !what.webhook.empty()) {
    const std::string file = webhook_file_of(rule);
    TRY_STATUS(os::make_directories(file.substr(0, file.rfind('/')), 0755));
    const std::string line = what.webhook + "\n";
    TRY_STATUS(os::write_file_atomically(file, line, 0600, os::Sync::kPowerCut));
    new_webhook_file_ = file;
    if (daemon_ != os::own_user()) TRY_STATUS(os::give_file(file, daemon_));
    what.webhook.clear();
    what.webhook_file = file;
  }
  text_ += "\n" + heading_of(rule) + config::keys_of(what);
  return Unit{};
}

void AlertFile::switch_off(const std::string& rule) {
  if (text_.empty()) text_ = kHead;
  text_ += "\n" + heading_of(rule) + "enabled = false\n";
}

bool AlertFile::take_out(const std::string& rule) {
  const std::size_t begin = find_heading(text_, rule);
  if (begin == std::string::npos) return false;
  if (kind_ == config::File::Kind::kMachine) old_webhook_file_ = webhook_file_of(rule);
  const std::size_t next = text_.find("\n[", begin);
  const std::size_t end = next == std::string::npos ? text_.size() : next + 1;
  text_.erase(begin, end - begin);
  while (text_.ends_with("\n\n")) text_.pop_back();
  return true;
}

Status AlertFile::write(const std::string& text) const {
  const unsigned mode = kind_ == config::File::Kind::kUser ? 0600 : 0644;
  return os::write_file_atomically(path_, text, mode, os::Sync::kPowerCut);
}

Status AlertFile::write() const {
  return write(text_);
}

void AlertFile::forget_old_webhook() const {
  if (old_webhook_file_ != new_webhook_file_) remove_if_there(old_webhook_file_);
}

Status AlertFile::put_back() const {
  remove_if_there(new_webhook_file_);
  return write(was_there_ ? before_ : kHead);
}

}  // namespace berth::cli
