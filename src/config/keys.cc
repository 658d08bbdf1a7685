// SPDX-License-Identifier: Apache-2.0
#include "config/keys.h"

#include <array>
#include <string>

#include "base/ids.h"
#include "core/limits.h"

namespace berth::config {
namespace {

using Name = const std::string&;

constexpr std::uint64_t ns(Duration duration) {
  return static_cast<std::uint64_t>(duration.ns);
}

constexpr std::uint64_t kConnectionsMax = 1'000'000;
constexpr std::uint64_t kRequestsMax = 1'000'000;
constexpr std::uint64_t kPathMax = 4'096;
constexpr std::uint64_t kUrlMax = 2'048;
constexpr std::uint64_t kCommandMax = 64;

constexpr std::array kKeys = {
    Key{.path = "daemon.state_dir",
        .slot = [](Config& c, Name) -> Slot { return &c.daemon.state_dir; },
        .doc = "Where the journal lies. Empty: /var/lib/berth, or $XDG_STATE_HOME/berth/<machine "
               "id> in user mode.",
        .max = kPathMax,
        .text = Key::Text::kAbsolutePath},
    Key{.path = "daemon.log",
        .slot = [](Config& c, Name) -> Slot { return &c.daemon.log; },
        .doc = "How much the daemon says in its log."},
    Key{.path = "daemon.in_container",
        .slot = [](Config& c, Name) -> Slot { return &c.daemon.in_container; },
        .doc =
            "Whether a daemon starts inside a container, where it sees the container's processes "
            "only. The host's daemon, where its socket is mounted, is used first."},

    Key{.path = "gpu.reserve",
        .slot = [](Config& c, Name) -> Slot { return &c.core.reserve; },
        .doc = "Kept on each GPU for programs that hold no lease, such as a desktop."},
    Key{.path = "gpu.context",
        .slot = [](Config& c, Name) -> Slot { return &c.core.context_estimate; },
        .doc = "What a CUDA context is taken to cost on a GPU on which none was measured yet. No "
               "budget "
               "may be smaller."},
    Key{.path = "gpu.sample_interval",
        .slot = [](Config& c, Name) -> Slot { return &c.gpu.sample_interval; },
        .doc = "How often the driver is asked for figures while a lease is held or waits.",
        .min = ns(milliseconds(100)),
        .max = ns(minutes(1))},
    Key{.path = "gpu.*.reserve",
        .slot = [](Config& c, Name name) -> Slot {
          return &c.core.device_reserve[parse_device_id(name).value_or(DeviceId{})];
        },
        .doc = "The reserve of one GPU, named by its UUID."},

    Key{.path = "history.record",
        .slot = [](Config& c, Name) -> Slot { return &c.history.record; },
        .doc = "Whether figures of GPUs, leases and processes are kept for berth history."},
    Key{.path = "history.second",
        .slot = [](Config& c, Name) -> Slot { return &c.history.second; },
        .doc = "How long they are kept for each second.",
        .min = ns(minutes(1)),
        .max = ns(hours(std::int64_t{24} * 31))},
    Key{.path = "history.minute",
        .slot = [](Config& c, Name) -> Slot { return &c.history.minute; },
        .doc = "How long least, mean and most of each minute are kept.",
        .min = ns(hours(1)),
        .max = ns(hours(std::int64_t{24} * 366))},
    Key{.path = "history.hour",
        .slot = [](Config& c, Name) -> Slot { return &c.history.hour; },
        .doc = "How long those of each hour are kept, and what became of leases.",
        .min = ns(hours(24)),
        .max = ns(hours(std::int64_t{24} * 366 * 10))},
    Key{.path = "history.size_max",
        .slot = [](Config& c, Name) -> Slot { return &c.history.size_max; },
        .doc = "How large history.db may become; beyond that the oldest goes first.",
        .min = mib(4).value},

    Key{.path = "policy.default_vram",
        .slot = [](Config& c, Name) -> Slot { return &c.policy.default_vram; },
        .doc = "What a request gets that says nothing about memory: a GPU to itself, an error that "
               "asks for -m, as much as earlier runs of its command used (a GPU to itself where "
               "that is not known), or so many bytes.",
        .min = 1},
    Key{.path = "policy.order",
        .slot = [](Config& c, Name) -> Slot { return &c.core.order; },
        .doc = "Who is next: who came first; who has the higher priority; or who has had the least "
               "of late."},
    Key{.path = "policy.backfill",
        .slot = [](Config& c, Name) -> Slot { return &c.core.backfill; },
        .doc = "Whether a later request may start before the first one where that does not delay "
               "it."},
    Key{.path = "policy.pass_max",
        .slot = [](Config& c, Name) -> Slot { return &c.core.pass_max; },
        .doc = "Nobody is passed by later requests for longer than this."},
    Key{.path = "policy.turn_min",
        .slot = [](Config& c, Name) -> Slot { return &c.core.turn_min; },
        .doc =
            "Leases that run in turns (--share slice) have a GPU for at least so long at a time.",
        .min = ns(milliseconds(100)),
        .max = ns(hours(24))},
    Key{.path = "policy.turn_loss",
        .slot = [](Config& c, Name) -> Slot { return Percent{&c.core.turn_loss_percent}; },
        .doc = "So much of the time may be lost at most to move their memory: where that takes "
               "long, turns are longer.",
        .min = 1,
        .max = 100},
    Key{.path = "policy.idle",
        .slot = [](Config& c, Name) -> Slot { return &c.core.idle_max; },
        .doc = "A lease that has been idle for so long is suspended, if it can be, where the "
               "request that is next has no lower priority and fits then. 0: none is."},
    Key{.path = "policy.aging",
        .slot = [](Config& c, Name) -> Slot { return &c.core.aging; },
        .doc = "With order = \"priority\": a request rises by one priority for so much waiting.",
        .min = ns(seconds(1))},
    Key{.path = "policy.claim_within",
        .slot = [](Config& c, Name) -> Slot { return &c.core.claim_within; },
        .doc = "A grant that is not taken up within this goes to the next one.",
        .min = ns(milliseconds(100)),
        .max = ns(minutes(10))},
    Key{.path = "policy.exclusive_unmanaged_max",
        .former = "policy.exclusive_external_max",
        .slot = [](Config& c, Name) -> Slot { return &c.core.exclusive_unmanaged_max; },
        .doc = "A whole GPU is granted only while programs that hold no lease use at most this "
               "much of it."},
    Key{.path = "policy.unmanaged",
        .slot = [](Config& c, Name) -> Slot { return &c.core.unmanaged; },
        .doc = "What programs without a lease use of a GPU is kept from leases; the same, and it "
               "is told who comes and goes; or it is granted all the same, but for the reserve."},
    Key{.path = "policy.visible_devices",
        .slot = [](Config& c, Name) -> Slot { return &c.policy.visible_devices; },
        .doc = "How CUDA_VISIBLE_DEVICES names the GPUs of a command. MIG slices are always named "
               "by UUID."},
    Key{.path = "policy.report_total",
        .slot = [](Config& c, Name) -> Slot { return &c.policy.report_total; },
        .doc =
            "What CUDA says a GPU's size is in a lease: its budget, or what the GPU has. What is "
            "free is never more than the budget leaves."},
    Key{.path = "policy.report_nvml",
        .slot = [](Config& c, Name) -> Slot { return &c.policy.report_nvml; },
        .doc = "What NVML says of a GPU's memory in a lease: the same as CUDA (budget), or what "
               "there is, as for programs that watch GPUs (physical)."},

    Key{.path = "enforce.mode",
        .slot = [](Config& c, Name) -> Slot { return &c.enforce.mode; },
        .doc = "How commands are held to their budgets where --enforce does not say: by the guard "
               "or, where it cannot be used, by measurement (auto); by one of them alone; by MPS; "
               "or not at all."},
    Key{.path = "enforce.over_budget",
        .slot = [](Config& c, Name) -> Slot { return &c.enforce.over_budget; },
        .doc = "What becomes of a lease that is measured above its budget, where --over-budget "
               "does not say: nothing, since an allocation that fails is enough; it is told; "
               "it is told, and ended if it goes on; or what pressure.over_budget says."},
    Key{.path = "enforce.over_budget_grace",
        .slot = [](Config& c, Name) -> Slot { return &c.core.over_budget_grace; },
        .doc =
            "So long a lease may be measured above its budget before over_budget = \"kill\" ends "
            "it. It is the daemon's, and the same for all leases.",
        .min = ns(seconds(1)),
        .max = ns(hours(24))},
    Key{.path = "enforce.over_budget_tolerance",
        .slot = [](Config& c, Name) -> Slot { return &c.core.over_budget_tolerance; },
        .doc = "What is measured above the budget by no more than this is not counted as such by "
               "the two keys above."},

    Key{.path = "pressure.warn",
        .slot = [](Config& c, Name) -> Slot { return Percent{&c.core.pressure.warn_percent}; },
        .doc = "A lease that uses so much of its budget is under pressure, which is announced.",
        .min = 1,
        .max = 100},
    Key{.path = "pressure.critical",
        .slot = [](Config& c, Name) -> Slot { return Percent{&c.core.pressure.critical_percent}; },
        .doc = "The same, and it is critical.",
        .min = 1,
        .max = 100},
    Key{.path = "pressure.on_lease_critical",
        .slot = [](Config& c, Name) -> Slot { return &c.core.pressure.on_lease_critical; },
        .doc = "What is done about a lease that is critical, step by step; docs/pressure.md. It is "
               "inside its budget: notify, cleanup and checkpoint alone.",
        .cause = Cause::kLeaseCritical},
    Key{.path = "pressure.on_device_critical",
        .slot = [](Config& c, Name) -> Slot { return &c.core.pressure.on_device_critical; },
        .doc = "What is done about a lease above its budget while others on its GPU lack memory "
               "that they were granted, whatever it has asked for itself.",
        .cause = Cause::kDeviceCritical},
    Key{.path = "pressure.on_unmanaged",
        .former = "pressure.on_strangers",
        .slot = [](Config& c, Name) -> Slot { return &c.core.pressure.on_unmanaged; },
        .doc =
            "What is done, to one lease after another, where programs without a lease have taken "
            "what leases were granted. Nobody is ended for that.",
        .cause = Cause::kUnmanaged},
    Key{.path = "pressure.over_budget",
        .slot = [](Config& c, Name) -> Slot { return &c.core.pressure.over_budget; },
        .doc = "What is done about a lease above its budget for which --over-budget suspend holds.",
        .cause = Cause::kOverBudget},
    Key{.path = "pressure.cooldown",
        .slot = [](Config& c, Name) -> Slot { return &c.core.pressure.cooldown; },
        .doc = "No measure is taken on a lease again before so long.",
        .min = ns(seconds(10)),
        .max = ns(hours(24))},

    Key{.path = "access.admins",
        .slot = [](Config& c, Name) -> Slot { return &c.access.admins; },
        .doc = "Users, and groups with '@', who may end and change the leases of others. uid 0 "
               "always may.",
        .max = 256},
    Key{.path = "access.show_commands",
        .slot = [](Config& c, Name) -> Slot { return &c.access.show_commands; },
        .doc = "Whose command lines a user sees. Names, states and sizes are seen by all."},

    Key{.path = "limits.waiting",
        .slot = [](Config& c, Name) -> Slot { return &c.core.limits_default.waiting_max; },
        .doc = "Requests of one user that may wait at a time.",
        .min = 1,
        .max = limits::kWaitingMax},
    Key{.path = "limits.leases",
        .slot = [](Config& c, Name) -> Slot { return &c.core.limits_default.leases_max; },
        .doc = "Leases that one user may hold at a time: at that, a new request is refused, and "
               "those that wait go on waiting.",
        .min = 1,
        .max = limits::kLeasesMax},
    Key{.path = "limits.connections",
        .slot = [](Config& c, Name) -> Slot { return &c.limits.connections; },
        .doc = "Connections of one user to the daemon. A `berth run` has one while it waits and "
               "while it "
               "runs.",
        .min = 1,
        .max = kConnectionsMax},
    Key{.path = "limits.event_streams",
        .slot = [](Config& c, Name) -> Slot { return &c.limits.event_streams; },
        .doc = "Connections of one user that listen for events.",
        .min = 1,
        .max = kConnectionsMax},
    Key{.path = "limits.requests_per_second",
        .slot = [](Config& c, Name) -> Slot { return &c.limits.requests_per_second; },
        .doc = "How often one user may ask for a lease, beyond requests_at_once. 0: no bound.",
        .max = kRequestsMax},
    Key{.path = "limits.requests_at_once",
        .slot = [](Config& c, Name) -> Slot { return &c.limits.requests_at_once; },
        .doc = "So many requests one user may make in one moment, after a rest.",
        .min = 1,
        .max = kRequestsMax},

    Key{.path = "users.*.vram",
        .slot = [](Config& c, Name name) -> Slot { return &c.users[name].vram; },
        .doc = "All budgets of this user together. Not set: no bound.",
        .min = 1},
    Key{.path = "users.*.leases",
        .slot = [](Config& c, Name name) -> Slot { return &c.users[name].leases; },
        .doc = "Instead of limits.leases.",
        .min = 1,
        .max = limits::kLeasesMax},
    Key{.path = "users.*.max_priority",
        .slot = [](Config& c, Name name) -> Slot { return &c.users[name].max_priority; },
        .doc =
            "The highest priority that counts against other users. A request that names none gets "
            "no more than that. Not set: normal, or urgent in user mode."},

    Key{.path = "alert.*.when",
        .slot = [](Config& c, Name name) -> Slot { return &c.alerts[name].when; },
        .doc = "What the rule looks at; docs/alerts.md. Three are built in: gpu-high, at 62% of "
               "a GPU, gpu-critical, at 88%, and out-of-memory."},
    Key{.path = "alert.*.enabled",
        .slot = [](Config& c, Name name) -> Slot { return &c.alerts[name].enabled; },
        .doc = "Whether it is looked at."},
    Key{.path = "alert.*.severity",
        .slot = [](Config& c, Name name) -> Slot { return &c.alerts[name].severity; },
        .doc = "How bad that is."},
    Key{.path = "alert.*.repeat",
        .slot = [](Config& c, Name name) -> Slot { return &c.alerts[name].repeat; },
        .doc = "While it goes on it is told again each so often. \"0s\": once."},
    Key{.path = "alert.*.terminal",
        .slot = [](Config& c, Name name) -> Slot { return &c.alerts[name].terminal; },
        .doc = "Whether the berth run of the lease that it is about says it."},
    Key{.path = "alert.*.desktop",
        .slot = [](Config& c, Name name) -> Slot { return &c.alerts[name].desktop; },
        .doc = "Whether it is shown on the desktop: berth run starts berth-notify for it, in user "
               "mode."},
    Key{.path = "alert.*.webhook",
        .slot = [](Config& c, Name name) -> Slot { return &c.alerts[name].webhook; },
        .doc = "A URL that is sent each message, by POST. Empty: none. Whoever can read this file "
               "can read it, and for most services it is a secret: webhook_file is for those.",
        .max = kUrlMax,
        .text = Key::Text::kUrl},
    Key{.path = "alert.*.webhook_file",
        .slot = [](Config& c, Name name) -> Slot { return &c.alerts[name].webhook_file; },
        .doc = "A file that only the user of the daemon can read, with such a URL. Empty: none.",
        .max = kPathMax,
        .text = Key::Text::kAbsolutePath},
    Key{.path = "alert.*.secret_file",
        .slot = [](Config& c, Name name) -> Slot { return &c.alerts[name].secret_file; },
        .doc = "A file that only its owner can read, with what messages to the webhook are signed "
               "with. Empty: they are not signed.",
        .max = kPathMax,
        .text = Key::Text::kAbsolutePath},
    Key{.path = "alert.*.allow_private",
        .slot = [](Config& c, Name name) -> Slot { return &c.alerts[name].allow_private; },
        .doc = "Whether the webhook may be on this machine or in a private network."},
    Key{.path = "alert.*.command",
        .slot = [](Config& c, Name name) -> Slot { return &c.alerts[name].command; },
        .doc = "A program and its arguments, started with each message on its stdin. Empty: none.",
        .max = kCommandMax},

    Key{.path = "client.color",
        .slot = [](Config& c, Name) -> Slot { return &c.client.color; },
        .doc = "Whether the command line colours its output; auto: on a terminal."},
    Key{.path = "client.output",
        .slot = [](Config& c, Name) -> Slot { return &c.client.output; },
        .doc = "The form in which lists are printed where --output does not say."},
    Key{.path = "client.desktop",
        .slot = [](Config& c, Name) -> Slot { return &c.client.desktop; },
        .doc = "Whether berth run starts berth-notify for rules that are shown on the desktop."},

    Key{.path = "request.vram",
        .slot = [](Config& c, Name) -> Slot { return &c.request.vram; },
        .doc = "Memory of requests made here, on each GPU, where -m and -x are not given.",
        .min = 1},
    Key{.path = "request.eta",
        .slot = [](Config& c, Name) -> Slot { return &c.request.eta; },
        .doc = "How long commands run here, as far as is known.",
        .min = ns(milliseconds(1))},
    Key{.path = "request.name",
        .slot = [](Config& c, Name) -> Slot { return &c.request.name; },
        .doc = "The name of requests made here.",
        .max = limits::kNameMax},
    Key{.path = "request.labels",
        .slot = [](Config& c, Name) -> Slot { return &c.request.labels; },
        .doc = "Labels of requests made here: a table of text.",
        .max = limits::kLabelsMax},
    Key{.path = "request.wait",
        .slot = [](Config& c, Name) -> Slot { return &c.request.wait; },
        .doc = "How long requests made here wait. \"0s\": not at all; not set: without bound."},
};

}  // namespace

std::span<const Key> keys() {
  return kKeys;
}

}  // namespace berth::config
