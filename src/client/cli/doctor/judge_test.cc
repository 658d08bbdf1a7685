// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cli/doctor/finding.h"

namespace berth::cli {
namespace {

using testing::HasSubstr;

// A machine on which all is well.
DoctorFacts healthy() {
  DoctorFacts facts{.me = {1000}, .version = "0.1.0"};
  facts.daemon = wire::DaemonView{.pid = 7, .version = "0.1.0", .state_dir = "/state"};
  facts.daemon->probe.driver_version = "575.57";
  facts.devices = {{.model = "RTX 5080", .capacity = gib(16), .reserve = mib(512)}};
  facts.runtime = {.path = "/run/b", .exists = true, .owner = {1000}, .mode = 0700};
  facts.state = {.path = "/state", .exists = true, .on_network = false, .free = gib(50)};
  facts.descriptors_max = 65'536;
  facts.enforcement = {
      .machine = "x86_64",
      .libc = "2.36",
      .guard = {.path = "/lib/libberth-guard.so"},
      .audit = {.path = "/lib/libberth-audit.so"},
      .mps = {.socket = "/tmp/nvidia-mps/control", .control = enforce::MpsFacts::Control::kListens},
      .driver_lists_processes = true,
      .dmem = {.controller = true, .regions = {"drm/0000:03:00.0/vram0"}}};
  facts.libberth = {
      .beside = "/lib/libberth.so.1", .found = "/lib/libberth.so.1", .version = "0.1.0"};
  facts.lock_prefix = "/tmp/gpu_lock";
  facts.shell.name = "bash";
  facts.shell.completion_installed = true;
  return facts;
}

Finding found(const DoctorFacts& facts, std::string_view check) {
  for (const Finding& finding : judge(facts)) {
    if (finding.check == check && finding.level != Level::kOk) return finding;
  }
  return {.check = "none"};
}

TEST(Doctor, AHealthyMachineHasNothingButOk) {
  const Findings findings = judge(healthy());
  EXPECT_GT(findings.size(), 8U);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.level, Level::kOk) << finding.fact;
    EXPECT_TRUE(finding.consequence.empty() && finding.cure.empty()) << finding.fact;
  }
}

std::string told_of_pausing(const std::string& driver, const std::string& machine = "x86_64") {
  DoctorFacts facts = healthy();
  facts.daemon->probe.driver_version = driver;
  facts.enforcement.machine = machine;
  for (const Finding& finding : judge(facts)) {
    if (finding.check == "checkpoints") return finding.fact;
  }
  return "";
}

TEST(Doctor, TellsWhatTheDriverCanDoForAPause) {
  EXPECT_EQ(told_of_pausing(""), "the version of the driver is not known");
  EXPECT_EQ(told_of_pausing("550.54"),
            "driver 550.54 has no checkpoint calls, which came with 570");
  EXPECT_THAT(told_of_pausing("570.86"),
              testing::AllOf(HasSubstr("can move memory to the host and back"),
                             HasSubstr("does not know restores on another GPU of the kind (580), "
                                       "processes launched as a job (590), ")));
  EXPECT_THAT(told_of_pausing("580.1"),
              testing::AllOf(HasSubstr("; knows restores on another GPU of the kind (580); "
                                       "does not know processes launched as a job (590), ")));
  EXPECT_THAT(told_of_pausing("610.1"), HasSubstr("; does not know storage of one's own (615)"));
  EXPECT_EQ(told_of_pausing("615").find("does not know"), std::string::npos);
  EXPECT_THAT(told_of_pausing("615", "aarch64"), HasSubstr("refuses to move memory"));
}

struct Illness {
  std::string_view check;
  Level level;
  std::function<void(DoctorFacts&)> change;
  std::string_view fact;
  std::string_view cure;
};

std::vector<Illness> illnesses_of_the_machine() {
  const auto process = [](Bytes used) {
    return UnmanagedProcess{.process = {815, 1}, .name = "firefox", .used = used};
  };
  return {
      {"probe", Level::kFail, [](auto& f) { f.daemon->probe.trouble = "no driver is installed"; },
       "no driver is installed", "nvidia-smi"},
      {"device", Level::kFail, [](auto& f) { f.devices[0].lost = true; },
       "GPU 0 (RTX 5080) is lost", "dmesg"},
      {"device", Level::kWarn,
       [](auto& f) { f.devices[0].trouble = "the daemon of user 1001 grants it"; },
       "the daemon of user 1001 grants it", "berth status"},
      {"device", Level::kWarn, [](auto& f) { f.devices[0].overcommitted = true; }, "overcommitted",
       "berth ps"},
      {"unmanaged", Level::kWarn,
       [=](auto& f) {
         f.devices[0].unmanaged_processes = {process(gib(3)), process(gib(2))};
         f.devices[0].unmanaged = gib(5);
       },
       "2 processes use 5.0 GiB of GPU 0 without a lease (firefox 815 and firefox 815)",
       "berth run"},
      {"astray", Level::kWarn,
       [=](auto& f) {
         f.devices[0].unmanaged_processes = {process(gib(3))};
         f.devices[0].unmanaged_processes[0].lease = LeaseId{12};
         f.devices[0].unmanaged = gib(3);
       },
       "firefox 815 of lease 12 uses 3.0 GiB of GPU 0, which that lease was not given",
       "berth show 12"},
      {"journal", Level::kFail,
       [](auto& f) {
         f.daemon->journal.safe_mode = true;
         f.quarantined = {"/state/leases.db.unsafe"};
       },
       "/state/leases.db.unsafe", "berth daemon"},
      {"journal", Level::kFail, [](auto& f) { f.daemon->journal.trouble = "disk full"; },
       "disk full", "df -h /state"},
      {"journal", Level::kWarn, [](auto& f) { f.quarantined = {"/state/leases.db.corrupt"}; },
       "/state/leases.db.corrupt", "ls -l /state"},
      {"programs", Level::kFail, [](auto& f) { f.missing_programs = {"berthd"}; }, "berthd",
       "./dev build"},
      {"runtime_dir", Level::kFail, [](auto& f) { f.runtime.mode = 0755; }, "/run/b is open",
       "chmod 0700 /run/b"},
      {"runtime_dir", Level::kFail, [](auto& f) { f.runtime.owner = {0}; }, "not yours", "chmod"},
      {"state_dir", Level::kWarn, [](auto& f) { f.state.on_network = true; },
       "/state is on a network file system", "berth config show"},
      {"state_dir", Level::kSkip, [](auto& f) { f.state.exists = false; },
       "/state is the daemon's, and you may not look into it", ""},
      {"disk_space", Level::kWarn, [](auto& f) { f.state.free = mib(500); }, "only 500 MiB",
       "df -h /state"},
      {"disk_space", Level::kFail, [](auto& f) { f.state.free = mib(5); }, "only 5 MiB",
       "df -h /state"},
      {"descriptors", Level::kWarn, [](auto& f) { f.descriptors_max = 512; }, "512", "ulimit"},
      {"lease_files", Level::kWarn,
       [](auto& f) {
         f.daemon->mode = wire::DaemonView::Mode::kSystem;
         f.leases = {.path = "/l", .exists = true};
       },
       "/l has no file system of its own", "run-berth-berthd.leases.mount"},
      {"lease_files", Level::kWarn,
       [](auto& f) {
         f.daemon->mode = wire::DaemonView::Mode::kSystem;
         f.leases = {.path = "/l", .exists = true, .own_file_system = true, .free = Bytes{}};
       },
       "/l is full", "df -h /l"},
  };
}

std::vector<Illness> illnesses_of_enforcement() {
  return {
      {"guard", Level::kWarn, [](auto& f) { f.enforcement.guard.path.clear(); },
       "libberth-guard.so is not installed", "./dev build"},
      {"guard", Level::kWarn, [](auto& f) { f.enforcement.machine = "aarch64"; }, "aarch64", ""},
      {"audit", Level::kSkip, [](auto& f) { f.enforcement.audit.trouble = "is no library"; },
       "libberth-audit.so is no library", "./dev build"},
      {"mps", Level::kSkip, [](auto& f) { f.enforcement.mps.control = {}; },
       "there is no /tmp/nvidia-mps/control", "nvidia-cuda-mps-control -d"},
      {"watchdog", Level::kSkip, [](auto& f) { f.enforcement.driver_lists_processes = false; },
       "does not tell what each process uses", ""},
      {"dmem", Level::kSkip, [](auto& f) { f.enforcement.dmem = {}; }, "has no controller", ""},
      {"libberth", Level::kWarn,
       [](auto& f) {
         f.libberth = {.beside = {}, .found = "/old/libberth.so.1", .version = "0.0"};
       },
       "libberth 0.0 (/old/libberth.so.1), and this is berth 0.1.0", "ls -l /old/libberth.so.1"},
      {"libberth", Level::kSkip, [](auto& f) { f.libberth.found.clear(); },
       "does not look for libberth.so.1 in /lib", "export LD_LIBRARY_PATH=/lib"},
      {"libberth", Level::kSkip, [](auto& f) { f.libberth = {}; }, "not installed", ""},
  };
}

std::vector<Illness> illnesses_of_the_user() {
  return {
      {"daemon", Level::kFail,
       [](auto& f) {
         f.daemon.reset();
         f.daemon_error = "the socket's path is too long";
       },
       "path is too long", "berth daemon logs"},
      {"daemon", Level::kFail,
       [](auto& f) {
         f.daemon.reset();
         f.daemon_error = "only root and the members of its group may";
         f.lacks_group = true;
       },
       "members of its group", "usermod -aG berth"},
      {"daemon", Level::kWarn, [](auto& f) { f.version = "0.2.0"; },
       "berthd 0.1.0 runs, and this is berth 0.2.0", "berth daemon stop"},
      {"daemon", Level::kSkip, [](auto& f) { f.daemon.reset(); }, "no daemon runs",
       "berth daemon start"},
      {"probe", Level::kSkip, [](auto& f) { f.daemon.reset(); }, "not asked", ""},
      {"pid_namespace", Level::kFail, [](auto& f) { f.daemon_in_other_pid_namespace = true; },
       "another PID namespace", "--pid=host"},
      {"pid_namespace", Level::kWarn, [](auto& f) { f.in_container = true; }, "container",
       "/run/berth"},
      {"configuration", Level::kFail,
       [](auto& f) { f.configuration_error = "/c.toml:3:1: no such key"; }, "/c.toml:3:1",
       "berth config check"},
      {"device_order", Level::kWarn, [](auto& f) { f.cuda_device_order = "FASTEST_FIRST"; },
       "FASTEST_FIRST", "PCI_BUS_ID"},
      {"lock_files", Level::kWarn,
       [](auto& f) { f.lock_files = {{"/tmp/gpu_lock_0", hours(50), false}}; },
       "1 lock file that nobody holds: /tmp/gpu_lock_0 (2d02h old)", "rm /tmp/gpu_lock_0"},
      {"lock_files", Level::kWarn,
       [](auto& f) { f.lock_files = {{"/tmp/gpu_lock_0", hours(1), true}}; }, "1 lock file in use",
       "berth run"},
      {"completion", Level::kSkip, [](auto& f) { f.shell.completion_installed = false; },
       "not installed", "berth completion bash >"},
  };
}

TEST(Doctor, EachIllnessIsFoundWithWhatFollowsAndACommand) {
  std::vector<Illness> all = illnesses_of_the_machine();
  std::ranges::move(illnesses_of_enforcement(), std::back_inserter(all));
  std::ranges::move(illnesses_of_the_user(), std::back_inserter(all));
  for (const Illness& illness : all) {
    SCOPED_TRACE(illness.fact);
    DoctorFacts facts = healthy();
    illness.change(facts);
    const Finding finding = found(facts, illness.check);
    EXPECT_EQ(finding.check, illness.check);
    EXPECT_EQ(finding.level, illness.level);
    EXPECT_THAT(finding.fact, HasSubstr(std::string(illness.fact)));
    EXPECT_THAT(finding.cure, HasSubstr(std::string(illness.cure)));
    EXPECT_FALSE(finding.consequence.empty());
  }
}

TEST(Doctor, UnmanagedProcessesThatAreIgnoredAreGrantedAllTheSame) {
  DoctorFacts facts = healthy();
  facts.devices[0].unmanaged_processes = {
      {.process = {815, 1}, .name = "a", .used = gib(2)},
      {.process = {816, 1}, .used = gib(1), .lease = LeaseId{12}}};
  facts.devices[0].unmanaged = gib(3);
  facts.devices[0].ignored = gib(2);
  EXPECT_THAT(found(facts, "unmanaged").fact, HasSubstr("1 process uses 2.0 GiB of GPU 0"));
  EXPECT_THAT(found(facts, "unmanaged").consequence, HasSubstr("policy.unmanaged = \"ignore\""));
}

TEST(Doctor, UnmanagedProcessesWithinTheReserveAreNoIllness) {
  DoctorFacts facts = healthy();
  facts.devices[0].unmanaged_processes = {{.process = {815, 1}, .name = "Xorg", .used = mib(200)}};
  facts.devices[0].unmanaged = mib(200);
  EXPECT_EQ(found(facts, "unmanaged").check, "none");
}

TEST(Doctor, OnlyLockFilesThatNobodyHoldsAreToBeRemoved) {
  DoctorFacts facts = healthy();
  facts.lock_files = {{"/tmp/gpu_lock_0", hours(50), false},
                      {"/tmp/gpu_lock_1", hours(50), true},
                      {"/tmp/gpu_lock 2", hours(50), false}};
  EXPECT_EQ(found(facts, "lock_files").cure, "rm /tmp/gpu_lock_0 '/tmp/gpu_lock 2'");
}

TEST(Doctor, ASettingOfPyTorchsIsNoFault) {
  DoctorFacts facts = healthy();
  facts.allocator_variable = "PYTORCH_CUDA_ALLOC_CONF";
  facts.allocator_settings = "max_split_size_mb:512";
  const Findings findings = judge(facts);
  const auto told = std::ranges::find(findings, "allocator", &Finding::check);
  ASSERT_NE(told, findings.end());
  EXPECT_EQ(told->level, Level::kOk);
  EXPECT_THAT(told->fact, HasSubstr("no budget"));
}

TEST(Doctor, SimulatedDevicesAreCalledSo) {
  DoctorFacts facts = healthy();
  facts.daemon->simulated = true;
  facts.daemon->world = "w1";
  EXPECT_THAT(judge(facts).front().fact, HasSubstr("1 simulated GPU (machine w1)"));
}

TEST(Doctor, TheReportIsGroupedAndCounts) {
  const Findings findings = {
      {.group = "daemon", .check = "daemon", .fact = "berthd answers"},
      {.group = "habits",
       .check = "lock_files",
       .level = Level::kWarn,
       .fact = "1 lock file",
       .consequence = "loops wait for ever",
       .cure = "rm /tmp/gpu_lock*"},
      {.group = "habits", .check = "x", .level = Level::kFail, .fact = "broken"}};
  const RenderContext context{.width = 80, .user_name = {}};
  EXPECT_EQ(findings_text(findings, context),
            "daemon\n"
            "  ok    berthd answers\n"
            "habits\n"
            "  warn  1 lock file\n"
            "        loops wait for ever\n"
            "        -> rm /tmp/gpu_lock*\n"
            "  FAIL  broken\n"
            "1 failure, 1 warning\n");
}

}  // namespace
}  // namespace berth::cli
