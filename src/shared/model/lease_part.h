// SPDX-License-Identifier: Apache-2.0
// Parts of a lease, one a device, and what it uses beside them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"

namespace berth {

/// One device's part of a lease.
struct LeasePart {
  DeviceId device;
  std::optional<std::uint32_t> index;  // Absent while the device is not seen.
  Bytes granted;
  std::optional<Bytes> used;                  // As the driver tells.
  std::optional<Bytes> peak;                  // By whichever account is the higher.
  std::optional<Bytes> ledger = {};           // As its programs have charged it.
  std::optional<std::int64_t> drift = {};     // Bytes that the driver told beyond that, at rest.
  std::optional<std::uint64_t> refused = {};  // Allocations that the budget did not allow.
  std::optional<Bytes> wanted = {};           // By those that wait for room in it.
  std::optional<std::uint32_t> gpu_utilization = {};  // Percent.
};
constexpr auto fields_of(Is<LeasePart> auto*) {
  return fields(
      {"LeaseDevice", "One GPU's part of a lease."},
      field("uuid", &LeasePart::device, "Of the GPU.").required(side::kJournal),
      field("index", &LeasePart::index, "In PCI order; null while the GPU is not seen."),
      field("vram_granted", &LeasePart::granted, "The budget.").required(side::kJournal),
      field("vram_used", &LeasePart::used, "By the processes of the lease, as the driver tells."),
      field("vram_peak", &LeasePart::peak,
            "The most that was used, by the driver's or the programs' account."),
      field("vram_ledger", &LeasePart::ledger,
            "What its programs have charged against the budget; null without the guard's files."),
      field("vram_drift_bytes", &LeasePart::drift,
            "What the driver told beyond the ledger when both last stood still; may be negative."),
      field("refused", &LeasePart::refused, "How many allocations the budget did not allow.")
          .called("refused_allocations", side::kWire),
      field("vram_wanted", &LeasePart::wanted,
            "What allocations wait for room for; null without the guard's files."),
      field("gpu_utilization_percent", &LeasePart::gpu_utilization,
            "How long its processes computed; null where the driver tells none of a process.")
          .to(100)
          .only(side::kAnswer));
}

/// A process of a lease on a device that the lease was not given.
struct Stray {
  Process process;
  std::string name;
  DeviceId device;
  std::optional<std::uint32_t> index;
  std::optional<Bytes> used;
};
constexpr auto fields_of(Is<Stray> auto*) {
  return fields({"Stray", "A process of a lease on a GPU that the lease was not given."},
                all_fields(&Stray::process), field("name", &Stray::name, "Of the program."),
                field("uuid", &Stray::device, "Of the GPU."),
                field("index", &Stray::index, "In PCI order."),
                field("vram_used", &Stray::used, "On this GPU."));
}

}  // namespace berth
