// SPDX-License-Identifier: Apache-2.0
#include "config/keys.h"

#include <array>
#include <string>

#include "base/ids.h"
#include "core/limits.h"

namespace berth::config {
namespace {

using Name = const std::string&;
using Text = Key::Text;

constexpr std::uint64_t ns(Duration duration) {
  return static_cast<std::uint64_t>(duration.ns);
}

constexpr std::uint64_t kConnectionsMax = 1'000'000;
constexpr std::uint64_t kRequestsMax = 1'000'000;
constexpr std::uint64_t kPathMax = 4'096;
constexpr std::uint64_t kUrlMax = 2'048;
constexpr std::uint64_t kCommandMax = 64;

constexpr Key ladder(std::string_view path, std::string_view doc, Slot (*slot)(Config&, Name),
                     Cause cause, std::string_view former = {}) {
  return {.path = path, .doc = doc, .slot = slot, .former = former, .cause = cause};
}

constexpr std::array kKeys = {
    Key{"daemon.state_dir",
        "Where the journal lies. Empty: /var/lib/berth, or $XDG_STATE_HOME/berth/<machine id> in "
        "user mode.",
        [](Config& c, Name) -> Slot { return &c.daemon.state_dir; }, 0, kPathMax,
        Text::kAbsolutePath},
    Key{"daemon.log", "How much the daemon says in its log.",
        [](Config& c, Name) -> Slot { return &c.daemon.log; }},
    Key{"daemon.in_container",
        "Whether a daemon starts inside a container, where it sees the container's processes only. "
        "The host's daemon, where its socket is mounted, is used first.",
        [](Config& c, Name) -> Slot { return &c.daemon.in_container; }},

    Key{"daemon.http",
        "The daemon answers at a port of 127.0.0.1 as at its socket, to who sends the token that "
        "lies in the state directory. Looked at when the daemon starts.",
        [](Config& c, Name) -> Slot { return &c.daemon.http; }},
    Key{"daemon.http_port",
        "That port; 0: one that is free, which `berth daemon status` names. Looked at when the "
        "daemon starts.",
        [](Config& c, Name) -> Slot { return &c.daemon.http_port; }, 0, 65'535},

    Key{"metrics.open",
        "At that port, /metrics is told to whoever is on this machine, without the token: names of "
        "users and leases are in it. Looked at when the port is opened.",
        [](Config& c, Name) -> Slot { return &c.daemon.open_metrics; }},
    Key{"metrics.gpu_jobs_dir",
        "A directory in which a file of each GPU lists the leases on it, as dcgm-exporter reads "
        "them "
        "with --hpc-job-mapping-dir. Looked at when the daemon starts; not set: none are kept.",
        [](Config& c, Name) -> Slot { return &c.daemon.gpu_jobs_dir; }},

    Key{"gpu.reserve", "Kept on each GPU for programs that hold no lease, such as a desktop.",
        [](Config& c, Name) -> Slot { return &c.core.reserve; }},
    Key{"gpu.context",
        "What a CUDA context is taken to cost on a GPU on which none was measured yet. No budget "
        "may be smaller.",
        [](Config& c, Name) -> Slot { return &c.core.context_estimate; }},
    Key{"gpu.sample_interval",
        "How often the driver is asked for figures while a lease is held or waits.",
        [](Config& c, Name) -> Slot { return &c.gpu.sample_interval; }, ns(milliseconds(100)),
        ns(minutes(1))},
    Key{"gpu.*.reserve", "The reserve of one GPU, named by its UUID.",
        [](Config& c, Name name) -> Slot {
          return &c.core.device_reserve[parse_device_id(name).value_or(DeviceId{})];
        }},

    Key{"history.record",
        "Whether figures of GPUs, leases and processes are kept for berth history.",
        [](Config& c, Name) -> Slot { return &c.history.record; }},
    Key{"history.second", "How long they are kept for each second.",
        [](Config& c, Name) -> Slot { return &c.history.second; }, ns(minutes(1)),
        ns(hours(std::int64_t{24} * 31))},
    Key{"history.minute", "How long least, mean and most of each minute are kept.",
        [](Config& c, Name) -> Slot { return &c.history.minute; }, ns(hours(1)),
        ns(hours(std::int64_t{24} * 366))},
    Key{"history.hour", "How long those of each hour are kept, and what became of leases.",
        [](Config& c, Name) -> Slot { return &c.history.hour; }, ns(hours(24)),
        ns(hours(std::int64_t{24} * 366 * 10))},
    Key{"history.size_max", "How large history.db may become; beyond that the oldest goes first.",
        [](Config& c, Name) -> Slot { return &c.history.size_max; }, mib(4).value},

    Key{"policy.default_vram",
        "What a request gets that says nothing about memory: a GPU to itself, an error that asks "
        "for -m, as much as earlier runs of its command used (a GPU to itself where that is not "
        "known), or so many bytes.",
        [](Config& c, Name) -> Slot { return &c.policy.default_vram; }, 1},
    Key{"policy.order",
        "Who is next: who came first; who has the higher priority; who has had the least of late; "
        "or who asks for little, for a short time, or urgently.",
        [](Config& c, Name) -> Slot { return &c.core.order; }},
    Key{"policy.backfill",
        "Whether a later request may start before the first one where that does not delay it.",
        [](Config& c, Name) -> Slot { return &c.core.backfill; }},
    Key{"policy.pass_max", "Nobody is passed by later requests for longer than this.",
        [](Config& c, Name) -> Slot { return &c.core.pass_max; }},
    Key{"policy.turn_min",
        "Leases that run in turns (--share slice) have a GPU for at least so long at a time.",
        [](Config& c, Name) -> Slot { return &c.core.turns.least; }, ns(milliseconds(100)),
        ns(hours(24))},
    Key{"policy.turn_loss",
        "So much of the time may be lost at most to move their memory: where that takes long, "
        "turns are longer.",
        [](Config& c, Name) -> Slot { return Percent{&c.core.turns.loss_percent}; }, 1, 100},
    Key{"policy.idle",
        "A lease that has been idle for so long is suspended, if it can be, where the request that "
        "is next has no lower priority and fits then. 0: none is.",
        [](Config& c, Name) -> Slot { return &c.core.idle.max; }},
    Key{"policy.idle_action",
        "What is done with such a lease: it is suspended, its holder is asked by a message whether "
        "it makes room, or nothing is.",
        [](Config& c, Name) -> Slot { return &c.core.idle.action; }},
    Key{"policy.message_every",
        "A rule for messages (--on-message) does not answer again within this.",
        [](Config& c, Name) -> Slot { return &c.core.message_every; }, ns(seconds(1)),
        ns(hours(std::int64_t{24} * 31))},
    Key{"policy.aging",
        "With order = \"priority\": a request rises by one priority for so much waiting.",
        [](Config& c, Name) -> Slot { return &c.core.aging; }, ns(seconds(1))},
    Key{"policy.claim_within", "A grant that is not taken up within this goes to the next one.",
        [](Config& c, Name) -> Slot { return &c.core.claim_within; }, ns(milliseconds(100)),
        ns(minutes(10))},
    Key{"policy.exclusive_unmanaged_max",
        "A whole GPU is granted only while programs that hold no lease use at most this much of "
        "it.",
        [](Config& c, Name) -> Slot { return &c.core.exclusive_unmanaged_max; }, 0, kNoMax,
        Text::kLine, "policy.exclusive_external_max"},
    Key{"policy.unmanaged",
        "What programs without a lease use of a GPU is kept from leases; the same, and it is told "
        "who comes and goes; or it is granted all the same, but for the reserve.",
        [](Config& c, Name) -> Slot { return &c.core.unmanaged; }},
    Key{"policy.visible_devices",
        "How CUDA_VISIBLE_DEVICES names the GPUs of a command. MIG slices are always named by "
        "UUID.",
        [](Config& c, Name) -> Slot { return &c.policy.visible_devices; }},
    Key{"policy.report_total",
        "What CUDA says a GPU's size is in a lease: its budget, or what the GPU has. What is free "
        "is never more than the budget leaves.",
        [](Config& c, Name) -> Slot { return &c.policy.report_total; }},
    Key{"policy.report_nvml",
        "What NVML says of a GPU's memory in a lease: the same as CUDA (budget), or what there is, "
        "as for programs that watch GPUs (physical).",
        [](Config& c, Name) -> Slot { return &c.policy.report_nvml; }},

    Key{"enforce.mode",
        "How commands are held to their budgets where --enforce does not say: by the guard or, "
        "where it cannot be used, by measurement (auto); by one of them alone; by MPS; or not at "
        "all.",
        [](Config& c, Name) -> Slot { return &c.enforce.mode; }},
    Key{"enforce.over_budget",
        "What becomes of a lease that is measured above its budget, where --over-budget does not "
        "say: nothing, since an allocation that fails is enough; it is told; it is told, and ended "
        "if it goes on; or what pressure.over_budget says.",
        [](Config& c, Name) -> Slot { return &c.enforce.over_budget; }},
    Key{"enforce.over_budget_grace",
        "So long a lease may be measured above its budget before over_budget = \"kill\" ends it. "
        "It is the daemon's, and the same for all leases.",
        [](Config& c, Name) -> Slot { return &c.core.over_budget.grace; }, ns(seconds(1)),
        ns(hours(24))},
    Key{"enforce.over_budget_tolerance",
        "What is measured above the budget by no more than this is not counted as such by the two "
        "keys above.",
        [](Config& c, Name) -> Slot { return &c.core.over_budget.tolerance; }},

    Key{"pressure.warn",
        "A lease that uses so much of its budget is under pressure, which is announced.",
        [](Config& c, Name) -> Slot { return Percent{&c.core.pressure.warn_percent}; }, 1, 100},
    Key{"pressure.critical", "The same, and it is critical.",
        [](Config& c, Name) -> Slot { return Percent{&c.core.pressure.critical_percent}; }, 1, 100},
    ladder(
        "pressure.on_lease_critical",
        "What is done about a lease that is critical, step by step; docs/pressure.md. It is inside "
        "its budget: notify, cleanup and checkpoint alone.",
        [](Config& c, Name) -> Slot { return &c.core.pressure.on_lease_critical; },
        Cause::kLeaseCritical),
    ladder(
        "pressure.on_device_critical",
        "What is done about a lease above its budget while others on its GPU lack memory that they "
        "were granted, whatever it has asked for itself.",
        [](Config& c, Name) -> Slot { return &c.core.pressure.on_device_critical; },
        Cause::kDeviceCritical),
    ladder(
        "pressure.on_unmanaged",
        "What is done, to one lease after another, where programs without a lease have taken what "
        "leases were granted. Nobody is ended for that.",
        [](Config& c, Name) -> Slot { return &c.core.pressure.on_unmanaged; }, Cause::kUnmanaged,
        "pressure.on_strangers"),
    ladder(
        "pressure.over_budget",
        "What is done about a lease above its budget for which --over-budget suspend holds.",
        [](Config& c, Name) -> Slot { return &c.core.pressure.over_budget; }, Cause::kOverBudget),
    Key{"pressure.cooldown", "No measure is taken on a lease again before so long.",
        [](Config& c, Name) -> Slot { return &c.core.pressure.cooldown; }, ns(seconds(10)),
        ns(hours(24))},

    Key{"access.admins",
        "Users, and groups with '@', who may end and change the leases of others. uid 0 always "
        "may.",
        [](Config& c, Name) -> Slot { return &c.access.admins; }, 0, 256},
    Key{"access.show_commands",
        "Whose command lines a user sees. Names, states and sizes are seen by all.",
        [](Config& c, Name) -> Slot { return &c.access.show_commands; }},

    Key{"limits.waiting", "Requests of one user that may wait at a time.",
        [](Config& c, Name) -> Slot { return &c.core.limits_default.waiting_max; }, 1,
        limits::kWaitingMax},
    Key{"limits.leases",
        "Leases that one user may hold at a time: at that, a new request is refused, and those "
        "that wait go on waiting.",
        [](Config& c, Name) -> Slot { return &c.core.limits_default.leases_max; }, 1,
        limits::kLeasesMax},
    Key{"limits.connections",
        "Connections of one user to the daemon. A `berth run` has one while it waits and while it "
        "runs.",
        [](Config& c, Name) -> Slot { return &c.limits.connections; }, 1, kConnectionsMax},
    Key{"limits.event_streams", "Connections of one user that listen for events.",
        [](Config& c, Name) -> Slot { return &c.limits.event_streams; }, 1, kConnectionsMax},
    Key{"limits.requests_per_second",
        "How often one user may ask for a lease, beyond requests_at_once. 0: no bound.",
        [](Config& c, Name) -> Slot { return &c.limits.requests_per_second; }, 0, kRequestsMax},
    Key{"limits.requests_at_once",
        "So many requests one user may make in one moment, after a rest.",
        [](Config& c, Name) -> Slot { return &c.limits.requests_at_once; }, 1, kRequestsMax},

    Key{"jobs.breaker_failures",
        "So many attempts of a set's jobs that fail, one after the other and none of them well, "
        "put the set on hold. 0: none do.",
        [](Config& c, Name) -> Slot { return &c.core.breaker.failures; }, 0, kSetMembersMax},
    Key{"jobs.breaker_within", "They count if they fail within this.",
        [](Config& c, Name) -> Slot { return &c.core.breaker.within; }, ns(seconds(1))},
    Key{"jobs.log_max",
        "So much of the disk the log of an attempt may take: beyond that its older half goes, once "
        "a "
        "second. 0: no bound. Not of a log that --log names.",
        [](Config& c, Name) -> Slot { return &c.jobs.log_max; }},

    Key{"users.*.vram", "All budgets of this user together. Not set: no bound.",
        [](Config& c, Name name) -> Slot { return &c.users[name].vram; }, 1},
    Key{"users.*.leases", "Instead of limits.leases.",
        [](Config& c, Name name) -> Slot { return &c.users[name].leases; }, 1, limits::kLeasesMax},
    Key{"users.*.max_priority",
        "The highest priority that counts against other users. A request that names none gets no "
        "more than that. Not set: normal, or urgent in user mode.",
        [](Config& c, Name name) -> Slot { return &c.users[name].max_priority; }},

    Key{"tier.*.priority",
        "Of requests with --tier NAME that name no priority. complex, execution and fast are built "
        "in: fast is high.",
        [](Config& c, Name name) -> Slot { return &c.core.tiers[name].priority; }},
    Key{"tier.*.share",
        "Of those that say -m and not --share, slice: they take turns; of those that say neither, "
        "exclusive: a whole GPU.",
        [](Config& c, Name name) -> Slot { return &c.core.tiers[name].share; }},
    Key{"tier.*.yield", "Whether their memory may be given to urgent requests, as with --yield.",
        [](Config& c, Name name) -> Slot { return &c.core.tiers[name].may_yield; }},
    Key{"tier.*.idle",
        "How long they are idle before they make room, instead of policy.idle. 0: they never do.",
        [](Config& c, Name name) -> Slot { return &c.core.tiers[name].idle_max; }},
    Key{"tier.*.idle_action", "What is done then, instead of policy.idle_action.",
        [](Config& c, Name name) -> Slot { return &c.core.tiers[name].idle_action; }},

    Key{"alert.*.when",
        "What the rule looks at; docs/alerts.md. Three are built in: gpu-high, at 62% of a GPU, "
        "gpu-critical, at 88%, and out-of-memory.",
        [](Config& c, Name name) -> Slot { return &c.alerts[name].when; }},
    Key{"alert.*.enabled", "Whether it is looked at.",
        [](Config& c, Name name) -> Slot { return &c.alerts[name].enabled; }},
    Key{"alert.*.severity", "How bad that is.",
        [](Config& c, Name name) -> Slot { return &c.alerts[name].severity; }},
    Key{"alert.*.repeat", "While it goes on it is told again each so often. \"0s\": once.",
        [](Config& c, Name name) -> Slot { return &c.alerts[name].repeat; }},
    Key{"alert.*.terminal", "Whether the berth run of the lease that it is about says it.",
        [](Config& c, Name name) -> Slot { return &c.alerts[name].terminal; }},
    Key{"alert.*.desktop",
        "Whether it is shown on the desktop: berth run starts berth-notify for it, in user mode.",
        [](Config& c, Name name) -> Slot { return &c.alerts[name].desktop; }},
    Key{"alert.*.webhook",
        "A URL that is sent each message, by POST. Empty: none. Whoever can read this file can "
        "read it, and for most services it is a secret: webhook_file is for those.",
        [](Config& c, Name name) -> Slot { return &c.alerts[name].webhook; }, 0, kUrlMax,
        Text::kUrl},
    Key{"alert.*.webhook_file",
        "A file that only the user of the daemon can read, with such a URL. Empty: none.",
        [](Config& c, Name name) -> Slot { return &c.alerts[name].webhook_file; }, 0, kPathMax,
        Text::kAbsolutePath},
    Key{"alert.*.secret_file",
        "A file that only its owner can read, with what messages to the webhook are signed with. "
        "Empty: they are not signed.",
        [](Config& c, Name name) -> Slot { return &c.alerts[name].secret_file; }, 0, kPathMax,
        Text::kAbsolutePath},
    Key{"alert.*.allow_private",
        "Whether the webhook may be on this machine or in a private network.",
        [](Config& c, Name name) -> Slot { return &c.alerts[name].allow_private; }},
    Key{"alert.*.command",
        "A program and its arguments, started with each message on its stdin. Empty: none.",
        [](Config& c, Name name) -> Slot { return &c.alerts[name].command; }, 0, kCommandMax},

    Key{"client.color", "Whether the command line colours its output; auto: on a terminal.",
        [](Config& c, Name) -> Slot { return &c.client.color; }},
    Key{"client.output", "The form in which lists are printed where --output does not say.",
        [](Config& c, Name) -> Slot { return &c.client.output; }},
    Key{"client.desktop",
        "Whether berth run starts berth-notify for rules that are shown on the desktop.",
        [](Config& c, Name) -> Slot { return &c.client.desktop; }},

    Key{"mcp.messages",
        "Which messages to its leases `berth mcp` gives an agent to read: those of your own user, "
        "all, or none. Of the others it says who sent one, and not what it says.",
        [](Config& c, Name) -> Slot { return &c.mcp.messages; }},

    Key{"request.vram", "Memory of requests made here, on each GPU, where -m and -x are not given.",
        [](Config& c, Name) -> Slot { return &c.request.vram; }, 1},
    Key{"request.eta", "How long commands run here, as far as is known.",
        [](Config& c, Name) -> Slot { return &c.request.eta; }, ns(milliseconds(1))},
    Key{"request.name", "The name of requests made here.",
        [](Config& c, Name) -> Slot { return &c.request.name; }, 0, limits::kNameMax},
    Key{"request.labels", "Labels of requests made here: a table of text.",
        [](Config& c, Name) -> Slot { return &c.request.labels; }, 0, limits::kLabelsMax},
    Key{"request.wait",
        "How long requests made here wait. \"0s\": not at all; not set: without bound.",
        [](Config& c, Name) -> Slot { return &c.request.wait; }},
};

}  // namespace

std::span<const Key> keys() {
  return kKeys;
}

}  // namespace berth::config
