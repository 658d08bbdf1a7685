// SPDX-License-Identifier: Apache-2.0
// The door to processes. A process is a pid and its start time, never a pid alone; what is done to
// one is done through a pidfd that was opened for exactly that pair. Any thread; nothing here
// waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "os/unique_fd.h"

namespace berth::os {

/// One look at /proc/PID/stat.
struct ProcessState {
  Process process;
  std::string name;      // At most 15 bytes, chosen by the program.
  bool ended = false;    // Nothing of it runs any more; its parent has not reaped it yet.
  bool stopped = false;  // By a signal.
  bool blocked = false;  // In the kernel, until what it waits for has come: no signal reaches it.
  std::int32_t parent_pid = 0;
  std::int32_t group = 0;
  std::int32_t session = 0;           // The pid of the session leader.
  std::uint64_t terminal = 0;         // Device number of the controlling terminal; 0: none.
  std::int32_t foreground_group = 0;  // Of that terminal; -1: none.
};
Result<ProcessState> process_state(std::int32_t pid);
/// Of exactly this process: kNotFound where the pid is another's by now.
Result<ProcessState> process_state(Process process);
/// The text of /proc/PID/stat, as the kernel writes it.
Result<ProcessState> parse_process_state(std::string_view text);

Process self();
/// Its inode, by which the guard names it; 0 if unknown.
std::uint64_t own_pid_namespace();
std::uint64_t own_time_namespace();  // 0: the kernel has none.
/// False once nothing of it runs any more, reaped or not.
bool is_alive(Process process);
/// Parent first, at most `count_max`; the last is the first process of the PID namespace.
std::vector<Process> ancestors(Process process, std::size_t count_max);
/// Of all processes that live.
std::vector<ProcessState> all_process_states();
/// All that live and have this process up their chain.
std::vector<Process> descendants(Process process);
/// kNotFound if the leader of its session is gone.
Result<Process> session_leader(Process process);

/// Readable once the process has ended. kNotFound if it has already.
Result<UniqueFd> open_pidfd(Process process);
/// kNotFound if it has ended.
Status send_signal(const UniqueFd& pidfd, int signal);
/// Opens a pidfd for it and signals that.
Status send_signal(Process process, int signal);

/// Of a process.
struct UserIds {
  UserId real;
  UserId effective;
  UserId saved;
};
/// The kernel's rule of who may signal whom, among processes of one user namespace.
bool may_signal(UserId user, const UserIds& ids);
/// Whether the kernel would let this user signal it now; kPermission, naming whose it is,
/// where it would not. A program that changed its user (sudo) is not theirs any more,
/// though they started it.
Status check_may_signal(UserId user, Process process);
/// What the user could have sent, and nothing else: with rights of our own we could more.
Status send_signal_for(UserId user, const UniqueFd& pidfd, Process process, int signal);
Status send_signal_for(UserId user, Process process, int signal);

/// The process that connected a Unix socket, or listens on it, as the kernel names it.
struct Peer {
  UserId user;
  std::int32_t pid = 0;            // 0: in a PID namespace that is not ours or below it.
  std::optional<Process> process;  // Absent: it has ended, or its pid means nothing here.
  UniqueFd pidfd;                  // There if `process` is.
  bool certain = false;  // The kernel gave the pidfd itself; else the pid was looked up later.
};
Result<Peer> peer_of(int socket);
/// Whether the process that the other side says it is can be believed: kPermission, naming the PID
/// namespace, where it differs from what the kernel says.
Status verify(const Peer& peer, Process claimed);

/// Whether a handler of its own is installed for the signal: one without would die of it.
Result<bool> catches(Process process, int signal);
/// The same of the text of /proc/PID/status.
Result<bool> parse_catches(std::string_view status, int signal);
/// Of the environment that the program was started with.
Result<std::optional<std::string>> environment_value(Process process, const std::string& name);
/// The same of the text of /proc/PID/environ: the first of that name counts, as for getenv(3).
std::optional<std::string> parse_environment(std::string_view environ, std::string_view name);
Result<std::vector<std::string>> command_line(Process process);
Result<UserIds> user_ids(Process process);
/// The same of the text of /proc/PID/status.
Result<UserIds> parse_user_ids(std::string_view status);
/// The effective uid.
Result<UserId> user_of(Process process);
/// kPermission where its user ids differ: for as long as it has the rights of a second user, it is
/// nobody's.
Result<UserId> sole_user_of(Process process);

}  // namespace berth::os
