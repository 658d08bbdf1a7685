// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/gather.h"

#include <fcntl.h>
#include <glob.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "base/number.h"
#include "cli/doctor/libberth.h"
#include "cli/terminal.h"
#include "client/autostart.h"
#include "client/configuration.h"
#include "config/load.h"
#include "enforce/backend.h"
#include "jobs/job_folder.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/files.h"
#include "os/own_file_system.h"
#include "os/paths.h"
#include "os/processes.h"
#include "os/unique_fd.h"
#include "os/users.h"
#include "wire/answers.h"

namespace berth::cli {
namespace {

constexpr std::size_t kLockFileMax = 4'096;  // Bytes looked at of one.
constexpr std::size_t kProcFileMax = std::size_t{4} << 20U;

// --- the daemon

void ask_daemon(client::Client& client, DoctorFacts& facts) {
  client::Connection& connection = client.connection();
  const auto answer = connection.ask({.route = wire::Route::kDaemon});
  if (!answer.ok()) {
    facts.daemon_error = answer.error().message;
    return;
  }
  if (!answer->ok()) {
    facts.daemon_error = wire::decode_error(answer->body).message;
    return;
  }
  auto daemon = wire::decode_daemon(answer->body);
  if (!daemon.ok()) {
    facts.daemon_error = daemon.error().message;
    return;
  }
  facts.daemon = *std::move(daemon);
  auto list = client::told(connection.ask({.route = wire::Route::kDevices}), wire::decode_devices);
  if (list) facts.devices = std::move(list->list.items);
  const auto peer = os::peer_of(connection.descriptor());
  facts.daemon_in_other_pid_namespace = peer.ok() && peer->pid == 0;
}

bool may_not_use_system_socket() {
  const auto system = os::paths_of(os::read_environment(), os::Mode::kSystem, "");
  return system.ok() && ::access(system->socket.c_str(), W_OK) != 0 && errno == EACCES;
}

void find_daemon(client::Autostart autostart, DoctorFacts& facts) {
  auto client = client::Client::connect(
      {.env = os::read_environment(), .autostart = autostart, .version = BERTH_VERSION});
  if (client.ok()) {
    ask_daemon(*client, facts);
  } else if (autostart == client::Autostart::kIfNeeded ||
             client.error().code != Errc::kUnavailable) {
    facts.daemon_error = client.error().message;
    facts.lacks_group = client.error().code == Errc::kPermission && may_not_use_system_socket();
  }
}

// --- places

DirectoryFacts look_at(const std::string& path) {
  DirectoryFacts facts{.path = path};
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return facts;
  facts.exists = true;
  facts.owner = {found.st_uid};
  facts.mode = found.st_mode & 07777U;
  if (const auto network = os::is_network_file_system(path); network.ok()) {
    facts.on_network = *network;
  }
  facts.own_file_system = os::has_own_file_system(path);
  if (const auto free = os::free_space(path); free.ok()) facts.free = *free;
  return facts;
}

void find_places(DoctorFacts& facts) {
  const auto daemon_paths = os::paths_of(os::read_environment(), os::Mode::kUser, "");
  std::string runtime = daemon_paths.ok() ? daemon_paths->runtime_dir : "";
  std::string state = daemon_paths.ok() ? daemon_paths->state_dir : "";
  if (facts.daemon) {
    runtime = std::filesystem::path(facts.daemon->socket).parent_path().string();
    state = facts.daemon->state_dir;
    facts.leases = look_at(os::leases_directory(facts.daemon->socket));
  }
  facts.runtime = look_at(runtime);
  facts.state = look_at(state);
  facts.quarantined = os::files_with_extension(state, {".corrupt", ".unsafe", ".unsynced"});
}

// --- lock files

// The inodes that /proc/locks lists: "1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF". Devices are
// not compared, since overlay file systems show another one than stat does.
std::set<std::uint64_t> locked_inodes() {
  std::set<std::uint64_t> inodes;
  const auto text = os::read_file("/proc/locks", kProcFileMax);
  if (!text.ok()) return inodes;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto colon = line.rfind(':');
    if (colon == std::string_view::npos) continue;
    line.remove_prefix(colon + 1);
    std::uint64_t inode = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), inode);
    if (read.ec == std::errc{}) inodes.insert(inode);
  }
  return inodes;
}

// In a PID namespace locks are not listed there whose owner is outside, or has ended and left its
// descriptor to others, as flock(1) does. They are asked for here; what flock(2) holds can only be
// tried, for a moment.
bool is_locked(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return false;
  struct flock wanted{};
  wanted.l_type = F_WRLCK;
  wanted.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_OFD_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK) return true;
  return ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

bool lives(std::int32_t pid) {
  if (pid <= 0) return false;
  const auto state = os::process_state(pid);
  if (state.ok()) return !state->ended;
  return ::kill(pid, 0) != 0 && errno == EPERM;  // /proc may hide others' processes.
}

// A lock-file loop writes the pid of the holder into it, if anything; which of several numbers that
// is cannot be told. Of a file that cannot be read the worse is taken to be so.
bool names_a_living_process(const std::string& path) {
  const auto text = os::read_file(path, kLockFileMax);
  if (!text.ok()) return true;
  std::string_view rest = *text;
  while (true) {
    const auto digit = rest.find_first_of("0123456789");
    if (digit == std::string_view::npos) return false;
    rest.remove_prefix(digit);
    std::int32_t pid = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
    if (read.ec == std::errc{} && lives(pid)) return true;
    rest.remove_prefix(static_cast<std::size_t>(read.ptr - rest.data()));
  }
}

std::vector<LockFile> find_lock_files(const std::string& prefix) {
  std::vector<LockFile> files;
  glob_t found{};
  std::string pattern;
  for (const char c : prefix) {  // The prefix is text, not a pattern.
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  const std::set<std::uint64_t> locked = locked_inodes();
  const UnixMs now = os::PosixClock().wall();
  if (::glob((pattern + "*").c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string path = found.gl_pathv[i];
      struct stat facts{};
      if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
      const std::int64_t age_ms = now.value - std::int64_t{facts.st_mtime} * 1'000;
      files.push_back({.path = path,
                       .age = milliseconds(std::max<std::int64_t>(age_ms, 0)),
                       .held = locked.contains(facts.st_ino) || is_locked(path) ||
                               names_a_living_process(path)});
    }
  }
  ::globfree(&found);
  return files;
}

// --- user and machine

std::string configuration_error() {
  const auto found =
      client::find_configuration(os::read_environment(), ".", client::ProjectFile::kIgnore);
  if (!found.ok()) return found.error().message;
  const auto loaded = config::load(found->input);
  const auto* problems = std::get_if<config::Problems>(&loaded);
  if (problems == nullptr) return {};
  std::string text = to_text(problems->front());
  if (problems->size() > 1) text += " (and " + std::to_string(problems->size() - 1) + " more)";
  return text;
}

bool completion_is_installed(const std::string& shell) {
  const std::string home = os::environment_variable("HOME");
  const std::string data = os::environment_variable("XDG_DATA_HOME").empty()
                               ? home + "/.local/share"
                               : os::environment_variable("XDG_DATA_HOME");
  const std::string config = os::environment_variable("XDG_CONFIG_HOME").empty()
                                 ? home + "/.config"
                                 : os::environment_variable("XDG_CONFIG_HOME");
  std::vector<std::string> paths;
  if (shell == "bash") {
    paths = {data + "/bash-completion/completions/berth",
             "/usr/share/bash-completion/completions/berth", "/etc/bash_completion.d/berth"};
  } else if (shell == "zsh") {
    paths = {home + "/.zfunc/_berth", "/usr/local/share/zsh/site-functions/_berth",
             "/usr/share/zsh/vendor-completions/_berth"};
  } else if (shell == "fish") {
    paths = {config + "/fish/completions/berth.fish",
             "/usr/share/fish/vendor_completions.d/berth.fish"};
  }
  return std::ranges::any_of(paths, os::exists);
}

void look_at_user(DoctorFacts& facts) {
  facts.configuration_error = configuration_error();
  facts.cuda_device_order = os::environment_variable("CUDA_DEVICE_ORDER");
  for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    if (os::environment_variable(name).find("max_split_size_mb") == std::string::npos) continue;
    facts.allocator_variable = name;
    facts.allocator_settings = os::environment_variable(name);
  }
  facts.shell.name = std::filesystem::path(os::environment_variable("SHELL")).filename().string();
  facts.shell.completion_installed = completion_is_installed(facts.shell.name);
}

void look_at_machine(DoctorFacts& facts) {
  for (const char* program :
       {"berthd", "berth-probe", "berth-mover", "berth-deliver", "berth-keeper"}) {
    if (!client::sibling_program(program).ok()) facts.missing_programs.emplace_back(program);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.descriptors_max = limit.rlim_max;
  facts.in_container = os::in_container();
}

// Of the devices that are there now, each must tell; where none has been asked, nothing is known.
std::optional<bool> list_processes(const std::vector<DeviceView>& devices) {
  std::optional<bool> all;
  for (const DeviceView& device : devices) {
    if (device.lists_processes) all = all.value_or(true) && *device.lists_processes;
  }
  return all;
}

void look_at_enforcement(DoctorFacts& facts) {
  enforce::Facts& found = facts.enforcement;
  utsname machine{};
  if (::uname(&machine) == 0) found.machine = static_cast<const char*>(machine.machine);
  found.libc = ::gnu_get_libc_version();
  const Result<std::string> own = client::sibling_program("berth");
  found.guard = enforce::look_at_library(own.ok() ? *own : "", enforce::kGuardLibrary);
  found.audit = enforce::look_at_library(own.ok() ? *own : "", enforce::kAuditLibrary);
  found.mps = enforce::look_at_mps(environment_text(enforce::kMpsPipes));
  found.driver_lists_processes = list_processes(facts.devices);
  found.dmem = enforce::look_at_dmem();
  facts.libberth = look_at_libberth(own.ok() ? *own : "");
}

// Who has, or had, its lock.
std::optional<std::int32_t> last_keeper() {
  const Result<jobs::JobFolder> folder = jobs::JobFolder::find(os::read_environment());
  if (!folder.ok()) return std::nullopt;
  const Result<std::string> text = os::read_private_file(folder->lock(), kLockFileMax);
  return text.ok() ? parse_number<std::int32_t>(text->substr(0, text->find('\n'))) : std::nullopt;
}

}  // namespace

DoctorFacts gather_facts(client::Autostart autostart, const std::string& lock_prefix) {
  DoctorFacts facts{.me = os::own_user(), .version = BERTH_VERSION, .lock_prefix = lock_prefix};
  find_daemon(autostart, facts);
  look_at_machine(facts);
  look_at_enforcement(facts);
  find_places(facts);
  look_at_user(facts);
  facts.lock_files = find_lock_files(lock_prefix);
  facts.log_out = look_at_log_out("", os::user_name(facts.me), last_keeper());
  return facts;
}

}  // namespace berth::cli
