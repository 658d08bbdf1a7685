// SPDX-License-Identifier: Apache-2.0
// The bounds of everything that can grow. Reaching one is an answer, not an accident.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace berth::limits {

inline constexpr std::size_t kDevicesMax = 256;  // On a machine, MIG slices included.
inline constexpr std::uint32_t kDevicesPerLease = 16;
inline constexpr std::size_t kWaitingMax = 20'000;    // Requests in the queue.
inline constexpr std::size_t kLeasesMax = 20'000;     // Held and releasing.
inline constexpr std::size_t kMembersPerLease = 512;  // Processes, departed ones included.
inline constexpr std::size_t kAncestorsMax = 32;      // Parents looked at above a process.
inline constexpr std::size_t kEndedKept = 1'000;      // Ended leases that `show` still knows.
inline constexpr std::size_t kBackfillDepth = 256;    // Requests looked at behind the first.
inline constexpr std::size_t kWhyListed = 16;         // Names in an answer of `why`.
inline constexpr std::size_t kShareUsers = 1'024;     // Whose use is kept,
inline constexpr std::size_t kShareSessions = 64;     // told apart by so many sessions of each.
inline constexpr std::size_t kCommandsKept = 4'096;   // Of which it is known what they used,
inline constexpr std::size_t kRunsKept = 5;           // in so many runs.

inline constexpr std::size_t kNameMax = 64;  // Bytes of a name, session or label.
inline constexpr std::size_t kLabelsMax = 16;
inline constexpr std::size_t kCommandMax = 4'096;  // Bytes of a command line, for people to read.

// A lease that has ended is watched this long until the driver has freed its memory.
inline constexpr Duration kProbeFastFor = seconds(1);
inline constexpr Duration kProbeFastEvery = milliseconds(10);
inline constexpr Duration kProbeSlowEvery = milliseconds(100);
// Devices are looked at this often while there is pressure and it gets worse.
inline constexpr Duration kProbePressedEvery = milliseconds(250);
inline constexpr Duration kReleasingMax = seconds(30);

// `unmanaged = "warn"`: which unmanaged processes are worth a word, when one that is listed no more
// has gone, and how many are told of in a minute.
inline constexpr Bytes kUnmanagedReportable = mib(256);
inline constexpr Duration kUnmanagedGoneAfter = seconds(10);
inline constexpr std::uint32_t kUnmanagedAnnouncedMax = 20;
inline constexpr std::size_t kStraysTold = 256;  // Of one lease.

inline constexpr Duration kReconnectWithin = seconds(5);        // After a restart of the daemon.
inline constexpr Duration kParkedMax = hours(1);                // Then the request is cancelled.
inline constexpr Duration kKillAfter = seconds(10);             // SIGKILL after SIGTERM.
inline constexpr Duration kOverBudgetSure = milliseconds(500);  // Before it is believed.
inline constexpr Duration kStartCheckPeriod = minutes(1);       // By a clock that may be set.
inline constexpr Duration kExitReportWithin = seconds(1);       // From a living supervisor.
inline constexpr Duration kLeftoversWithin =
    milliseconds(250);                                // To say who still uses the device.
inline constexpr Duration kShareHalfLife = hours(1);  // `fair`: how fast past use is forgotten.
inline constexpr Duration kShareAhead = minutes(1);   // `fair`: what a grant counts at once.
// `fair` and `value`: what a whole device counts as; its size is not known where they look.
inline constexpr Bytes kWholeDeviceCounts = gib(64);
// `value`: how long after it was asked for a low request for a whole device and an hour is due, the
// most of any, and which times and parts of a device count. A time that was not told is an hour.
inline constexpr Duration kValueAllowance = hours(48);
inline constexpr Duration kValueAllowanceMax = hours(std::int64_t{24} * 365);
inline constexpr Duration kValueTimeUnknown = hours(1);
inline constexpr Duration kValueTimeMin = seconds(10);
inline constexpr Duration kValueTimeMax = hours(std::int64_t{24} * 31);
inline constexpr double kValuePartMin = 1.0 / 64;
inline constexpr Duration kCheckpointGraceMax = hours(24);
inline constexpr Duration kCheckpointEveryMin = seconds(1);
inline constexpr Duration kCheckpointMargin = seconds(5);  // To hear of the end of a grace.
inline constexpr Duration kYieldAgainAfter = minutes(1);   // After a suspension that could not be.
inline constexpr Duration kRequeueHeardWithin = seconds(5);  // By the `berth run` that stops it.
inline constexpr Duration kRequeueMargin = seconds(5);       // For it to come back after a grace.
// What comes of a measure within this is its outcome, beside the times that the lease was given.
inline constexpr Duration kMeasureMargin = seconds(15);
inline constexpr Duration kIdleAfter = minutes(5);  // Of use that has not changed since.
// A lease is idle when it has rested for so long, with a look at it at least this often.
inline constexpr Duration kIdleSettled = minutes(1);
inline constexpr Duration kIdleLookMax = seconds(10);
inline constexpr Duration kMovedWithin = minutes(5);
inline constexpr std::size_t kCheckpointRequesters = 64;  // Of one save.
inline constexpr std::size_t kRequeueRequesters = 64;     // Of one lease.
inline constexpr std::size_t kCheckpointDetail = 256;     // Bytes.
inline constexpr std::size_t kProgressNote = 200;         // Bytes.
inline constexpr std::size_t kProgressPhase = 32;         // Bytes.
inline constexpr std::size_t kProgressPoints = 512;       // Of one lease.
inline constexpr std::size_t kMessageText = 280;          // Bytes.
inline constexpr std::size_t kMessagesOpen = 8;           // Of one lease, from users.
inline constexpr std::size_t kMessagesAMinute = 10;       // From one user.
inline constexpr Duration kMessageLasts = hours(1);       // Then nobody is waited for any more.
inline constexpr Duration kMessagePauseMax = hours(24);   // By a rule.
inline constexpr Duration kReportedEndMax = hours(std::int64_t{24} * 365);
inline constexpr Duration kTtlMax = hours(std::int64_t{24} * 31);

}  // namespace berth::limits
