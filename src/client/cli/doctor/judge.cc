// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/judge.h"

#include <algorithm>
#include <utility>

#include "base/quantity.h"
#include "cli/doctor/libberth.h"
#include "cli/render/phrases.h"
#include "cli/run/request.h"
#include "enforce/backend.h"

namespace berth::cli {
namespace {

constexpr Bytes kDiskLow = gib(1);
constexpr Bytes kDiskFull = mib(64);
constexpr std::uint64_t kDescriptorsLow = 4'096;
constexpr std::uint32_t kGroupOrOthers = 077;
constexpr std::size_t kNamesShown = 4;

std::string first_names(const std::vector<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamesShown)));
  if (names.size() > shown.size()) {
    shown.push_back(std::to_string(names.size() - shown.size()) + " more");
  }
  return joined(shown);
}

// Collects findings of one group.
class Group {
 public:
  Group(Findings& findings, std::string_view name) : findings_(findings), name_(name) {}

  void add(Finding finding) {
    finding.group = name_;
    findings_.push_back(std::move(finding));
  }

 private:
  Findings& findings_;
  std::string_view name_;
};

// --- driver

void judge_probe(Group& group, const wire::DaemonView& daemon, std::size_t devices) {
  const std::string& trouble = daemon.probe.trouble.empty() ? daemon.trouble : daemon.probe.trouble;
  if (!trouble.empty()) {
    group.add(failure("probe", {.fact = trouble,
                                .consequence = "no GPU is granted until the driver answers",
                                .cure = daemon.simulated ? "berth daemon logs" : "nvidia-smi"}));
    return;
  }
  if (daemon.simulated) {
    group.add(fine("probe", counted(devices, "simulated GPU") + " (machine " + daemon.world +
                                "); nothing here touches a real one"));
    return;
  }
  const std::string& version = daemon.probe.driver_version;
  group.add(fine("probe", "the driver" + (version.empty() ? "" : " " + version) + " answers, " +
                              counted(devices, "GPU")));
}

void judge_device(Group& group, const DeviceView& device) {
  const std::string gpu = "GPU " + std::to_string(device.index) + " (" + device.model + ")";
  const std::string because = device.trouble.empty() ? "" : ": " + device.trouble;
  Finding finding = fine("device", gpu + " is healthy");
  if (device.lost) {
    finding =
        failure("device", {.fact = gpu + " is lost" + because,
                           .consequence = "nothing is granted on it; leases there go on without it",
                           .cure = "sudo dmesg | grep -i nvrm"});
  } else if (!device.trouble.empty()) {
    finding = warning("device", {.fact = gpu + because,
                                 .consequence = "nothing may be granted on it until that is over",
                                 .cure = "berth status"});
  } else if (device.overcommitted) {
    finding = warning(
        "device", {.fact = gpu + " is overcommitted: more is in use or promised than it has",
                   .consequence = "nothing is granted on it, and programs may run out of memory",
                   .cure = "berth ps"});
  } else if (device.asleep) {
    finding.fact = gpu + " is asleep; a request wakes it";
  }
  group.add(std::move(finding));
}

void judge_strays(Group& group, const DeviceView& device) {
  for (const UnmanagedProcess& stray : device.unmanaged_processes) {
    if (!stray.lease) continue;
    group.add(warning(
        "astray",
        {.fact = stray.name + " " + std::to_string(stray.process.pid) + " of lease " +
                 to_text(*stray.lease) + " uses " + (stray.used ? to_text(*stray.used) : "memory") +
                 " of GPU " + std::to_string(device.index) + ", which that lease was not given",
         .consequence = "no budget holds it there, and what it takes may be taken from a "
                        "lease; a program stays on its GPUs by CUDA_VISIBLE_DEVICES",
         .cure = "berth show " + to_text(*stray.lease)}));
  }
}

void judge_unmanaged(Group& group, const DeviceView& device) {
  std::vector<std::string> names;
  Bytes strays;
  for (const UnmanagedProcess& unmanaged_process : device.unmanaged_processes) {
    if (unmanaged_process.lease) {
      strays += unmanaged_process.used.value_or(Bytes{});
    } else {
      names.push_back(unmanaged_process.name + " " + std::to_string(unmanaged_process.process.pid));
    }
  }
  if (names.empty()) return;
  const std::string used =
      device.unmanaged ? to_text(saturating_sub(*device.unmanaged, strays)) : "memory";
  const std::string who =
      names.size() == 1 ? "1 process uses " : std::to_string(names.size()) + " processes use ";
  Finding finding = fine("unmanaged", who + used + " of GPU " + std::to_string(device.index) +
                                          " without a lease (" + first_names(names) + ")");
  if (device.unmanaged && *device.unmanaged <= device.reserve) {
    finding.fact += ", within what is kept in reserve";
  } else {
    finding.level = Level::kWarn;
    finding.consequence = device.ignored > Bytes{}
                              ? "it is granted to others all the same (policy.unmanaged = "
                                "\"ignore\"), who may run out of memory inside their budgets"
                              : "that memory is not granted to anybody, and what they take next "
                                "may be taken from a lease";
    finding.cure = "berth run -m SIZE -- COMMAND";
  }
  group.add(std::move(finding));
}

void judge_driver(Findings& findings, const DoctorFacts& facts) {
  Group group(findings, "driver");
  if (!facts.daemon) {
    group.add(skipped("probe", {.fact = "the driver was not asked",
                                .consequence = "the daemon asks it, and none runs"}));
    return;
  }
  judge_probe(group, *facts.daemon, facts.devices.size());
  for (const DeviceView& device : facts.devices) {
    judge_device(group, device);
    judge_unmanaged(group, device);
    judge_strays(group, device);
  }
}

// --- daemon

void judge_running(Group& group, const DoctorFacts& facts) {
  if (facts.lacks_group) {
    group.add(failure(
        "daemon",
        {.fact = facts.daemon_error,
         .consequence = "nothing can be asked for; a new group counts from the next log-in on",
         .cure = "sudo usermod -aG berth \"$USER\""}));
  } else if (!facts.daemon_error.empty()) {
    group.add(failure("daemon", {.fact = facts.daemon_error,
                                 .consequence = "nothing can be asked for",
                                 .cure = "berth daemon logs"}));
  } else if (!facts.daemon) {
    group.add(skipped("daemon", {.fact = "no daemon runs here",
                                 .consequence = "one starts by itself when a verb needs it",
                                 .cure = "berth daemon start"}));
  } else if (facts.daemon->version != facts.version) {
    group.add(warning("daemon", {.fact = "berthd " + facts.daemon->version +
                                         " runs, and this is berth " + facts.version,
                                 .consequence = "what only one of them knows cannot be used",
                                 .cure = "berth daemon stop && berth daemon start"}));
  } else {
    group.add(fine("daemon", "berthd " + facts.daemon->version + " (pid " +
                                 std::to_string(facts.daemon->pid) + ") answers"));
  }
}

void judge_journal(Group& group, const DoctorFacts& facts) {
  if (facts.daemon && facts.daemon->journal.safe_mode) {
    group.add(failure(
        "journal", {.fact = "safe mode: the journal was moved aside" +
                            (facts.quarantined.empty() ? "" : " to " + facts.quarantined.back()),
                    .consequence = "nothing is granted, because reading it ended the daemon twice",
                    .cure = "berth daemon stop && berth daemon start"}));
  } else if (facts.daemon && !facts.daemon->journal.trouble.empty()) {
    group.add(failure("journal",
                      {.fact = facts.daemon->journal.trouble,
                       .consequence = "nothing new is granted until the journal can be written",
                       .cure = "df -h " + facts.daemon->state_dir}));
  } else if (!facts.quarantined.empty()) {
    group.add(
        warning("journal", {.fact = "a journal was moved aside: " + first_names(facts.quarantined),
                            .consequence = "what only it knew is lost to the daemon",
                            .cure = "ls -l " + facts.state.path}));
  } else if (facts.daemon) {
    group.add(fine("journal", "the journal can be written"));
  }
}

void judge_programs(Group& group, const DoctorFacts& facts) {
  if (facts.missing_programs.empty()) {
    group.add(fine("programs", "all programs of Berth are where this one is"));
    return;
  }
  group.add(
      failure("programs", {.fact = "missing beside this program: " + joined(facts.missing_programs),
                           .consequence = "the installation is not whole",
                           .cure = "./dev build"}));
}

void judge_daemon(Findings& findings, const DoctorFacts& facts) {
  Group group(findings, "daemon");
  judge_programs(group, facts);
  judge_running(group, facts);
  judge_journal(group, facts);
  if (facts.daemon_in_other_pid_namespace) {
    group.add(failure("pid_namespace",
                      {.fact = "the daemon lives in another PID namespace",
                       .consequence = "it cannot see the processes that are started here",
                       .cure = "docker run --pid=host …"}));
  } else if (facts.in_container) {
    group.add(
        warning("pid_namespace",
                {.fact = "this is a container",
                 .consequence = "a daemon started here sees and coordinates this container alone",
                 .cure = "docker run -v /run/berth:/run/berth --pid=host …"}));
  }
  if (!facts.configuration_error.empty()) {
    group.add(failure("configuration",
                      {.fact = facts.configuration_error,
                       .consequence = "verbs end with 78, and a reload keeps the old configuration",
                       .cure = "berth config check"}));
  } else {
    group.add(fine("configuration", "the configuration is in order"));
  }
}

// --- places

bool is_of_the_machine(const DoctorFacts& facts) {
  return facts.daemon && facts.daemon->mode == wire::DaemonView::Mode::kSystem;
}

void judge_runtime(Group& group, const DoctorFacts& facts) {
  const DirectoryFacts& runtime = facts.runtime;
  if (is_of_the_machine(facts)) {
    group.add(fine("runtime_dir", runtime.path + " is the system daemon's"));
  } else if (!runtime.exists) {
    group.add(skipped("runtime_dir", {.fact = runtime.path + " is not there yet",
                                      .consequence = "it is made when a daemon starts"}));
  } else if (runtime.owner != facts.me || (runtime.mode & kGroupOrOthers) != 0) {
    group.add(failure("runtime_dir", {.fact = runtime.path + " is open to others or not yours",
                                      .consequence = "no daemon of yours starts there (73)",
                                      .cure = "chmod 0700 " + runtime.path}));
  } else {
    group.add(fine("runtime_dir", runtime.path + " is yours alone"));
  }
}

void judge_state(Group& group, const DoctorFacts& facts) {
  const DirectoryFacts& state = facts.state;
  if (!state.exists && facts.daemon) {
    group.add(
        skipped("state_dir", {.fact = state.path + " is the daemon's, and you may not look into it",
                              .consequence = "whoever runs the daemon can (sudo berth doctor)"}));
    return;
  }
  if (!state.exists) {
    group.add(skipped("state_dir", {.fact = state.path + " is not there yet",
                                    .consequence = "it is made when a daemon starts"}));
    return;
  }
  if (state.on_network.value_or(false)) {
    group.add(
        warning("state_dir",
                {.fact = state.path + " is on a network file system",
                 .consequence = "grants wait for the network, and its locks are not to be trusted",
                 .cure = "berth config show --origin"}));
  } else {
    group.add(fine("state_dir", state.path + " is on a local disk"));
  }
  if (!state.free) return;
  const std::string room = to_text(*state.free) + " are free there";
  if (*state.free < kDiskLow) {
    group.add({.check = "disk_space",
               .level = *state.free < kDiskFull ? Level::kFail : Level::kWarn,
               .fact = "only " + room,
               .consequence = "when the disk is full nothing new is granted (74)",
               .cure = "df -h " + state.path});
  } else {
    group.add(fine("disk_space", room));
  }
}

void judge_places(Findings& findings, const DoctorFacts& facts) {
  Group group(findings, "places");
  judge_runtime(group, facts);
  if (is_of_the_machine(facts)) group.add(look_at_lease_files(facts.leases));
  judge_state(group, facts);
  if (facts.descriptors_max < kDescriptorsLow) {
    group.add(warning(
        "descriptors",
        {.fact =
             "a process may have " + std::to_string(facts.descriptors_max) + " descriptors open",
         .consequence = "a waiting request costs the daemon one; beyond that it answers 503",
         .cure = "ulimit -Hn 65536"}));
  } else {
    group.add(
        fine("descriptors", std::to_string(facts.descriptors_max) + " descriptors are enough"));
  }
}

void judge_pausing(Findings& findings, const DoctorFacts& facts) {
  Group(findings, "pausing").add(look_at_pausing(facts));
}

// --- enforcement

// Only the guard is missed: it is what is used if nothing else is said. The others are on offer.
void judge_enforcement(Findings& findings, const DoctorFacts& facts) {
  Group group(findings, "enforcement");
  for (const enforce::Backend& backend : enforce::backends()) {
    enforce::Availability found = backend.look(facts.enforcement);
    const Level missing = backend.name == "guard" ? Level::kWarn : Level::kSkip;
    group.add({.check = backend.name,
               .level = found.available ? Level::kOk : missing,
               .fact = std::move(found.fact),
               .consequence = std::move(found.consequence),
               .cure = std::move(found.cure)});
  }
}

// --- habits

// A setting like others, which some have taken for a budget.
void judge_allocator(Group& group, const DoctorFacts& facts) {
  if (facts.allocator_settings.find("max_split_size_mb") == std::string::npos) return;
  group.add(
      fine("allocator", facts.allocator_variable +
                            " sets max_split_size_mb: which free blocks are split, and no budget"));
}

void judge_device_order(Group& group, const DoctorFacts& facts) {
  const std::string& order = facts.cuda_device_order;
  if (order.empty() || order == "PCI_BUS_ID") return;
  group.add(warning(
      "device_order",
      {.fact = "CUDA_DEVICE_ORDER is " + order,
       .consequence = "programs without Berth count the GPUs in another order than nvidia-smi "
                      "and Berth do",
       .cure = "export CUDA_DEVICE_ORDER=PCI_BUS_ID"}));
}

// Each by its name: another one with the same beginning may be in use.
std::string removal_of(const std::vector<std::string>& paths) {
  constexpr std::size_t kNamedMax = 16;
  std::vector<std::string> command = {"rm"};
  command.insert(command.end(), paths.begin(),
                 paths.begin() + static_cast<std::ptrdiff_t>(std::min(paths.size(), kNamedMax)));
  return command_text(command);
}

void judge_lock_files(Group& group, const DoctorFacts& facts) {
  std::vector<std::string> stale;
  std::vector<std::string> stale_paths;
  std::vector<std::string> held;
  for (const LockFile& file : facts.lock_files) {
    (file.held ? held : stale).push_back(file.path + " (" + to_text(file.age) + " old)");
    if (!file.held) stale_paths.push_back(file.path);
  }
  if (!stale.empty()) {
    group.add(warning(
        "lock_files",
        {.fact = counted(stale.size(), "lock file") + " that nobody holds: " + first_names(stale),
         .consequence = "loops that wait for them wait for ever; who died without "
                        "removing theirs is not noticed",
         .cure = removal_of(stale_paths)}));
  }
  if (!held.empty()) {
    group.add(warning("lock_files",
                      {.fact = counted(held.size(), "lock file") + " in use: " + first_names(held),
                       .consequence = "who holds one and who holds a lease do not see each other",
                       .cure = "berth run -m 8G -- COMMAND"}));
  }
}

void judge_habits(Findings& findings, const DoctorFacts& facts) {
  const std::size_t before = findings.size();
  Group group(findings, "habits");
  judge_allocator(group, facts);
  judge_device_order(group, facts);
  judge_lock_files(group, facts);
  if (findings.size() > before) return;
  group.add(fine("habits", "no lock files, and no variable used for a budget"));
}

// --- shell

std::string completion_command(const std::string& shell) {
  if (shell == "zsh") return "berth completion zsh > ~/.zfunc/_berth";
  if (shell == "fish") return "berth completion fish > ~/.config/fish/completions/berth.fish";
  return "berth completion bash > ~/.local/share/bash-completion/completions/berth";
}

void judge_shell(Findings& findings, const DoctorFacts& facts) {
  Group group(findings, "shell");
  const bool known =
      facts.shell.name == "bash" || facts.shell.name == "zsh" || facts.shell.name == "fish";
  if (!known) {
    group.add(skipped("completion", {.fact = "the shell is not known",
                                     .consequence = "there is completion for bash, zsh and fish"}));
  } else if (facts.shell.completion_installed) {
    group.add(fine("completion", "completion for " + facts.shell.name + " is installed"));
  } else {
    group.add(skipped("completion",
                      {.fact = "completion for " + facts.shell.name + " is not installed",
                       .consequence = "the shell does not complete verbs, options and leases",
                       .cure = completion_command(facts.shell.name)}));
  }
}

}  // namespace

Findings judge(const DoctorFacts& facts) {
  Findings findings;
  judge_driver(findings, facts);
  judge_daemon(findings, facts);
  judge_places(findings, facts);
  judge_pausing(findings, facts);
  judge_enforcement(findings, facts);
  Group(findings, "library").add(judge_libberth(facts.libberth, facts.version));
  Group(findings, "jobs").add(judge_log_out(facts.log_out));
  judge_habits(findings, facts);
  judge_shell(findings, facts);
  return findings;
}

}  // namespace berth::cli
