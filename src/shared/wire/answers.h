// SPDX-License-Identifier: Apache-2.0
// The answers that are about more than one lease: devices, the whole state, why and fit.
// Written by the daemon, read leniently by clients. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/lease.h"
#include "model/view.h"
#include "wire/lease.h"

namespace berth::wire {

/// GET /v1/status
struct StatusAnswer {
  UnixMs time;
  bool simulated = false;
  std::string trouble;              // Why there are no devices; empty: no trouble.
  std::vector<DeviceView> devices;  // In PCI order.
  std::vector<LeaseView> leases;    // Live ones that do not wait, by id.
  std::vector<LeaseView> queue;     // Waiting ones, next first.
};
constexpr auto fields_of(Is<StatusAnswer> auto*) {
  return fields({"Status", "", "berth/status/v1"},
                field("time", &StatusAnswer::time, "Of the answer."),
                field("simulated", &StatusAnswer::simulated, "The GPUs are simulated."),
                field("trouble", &StatusAnswer::trouble, "Why there are no GPUs."),
                field("devices", &StatusAnswer::devices, "In PCI order."),
                field("leases", &StatusAnswer::leases, "Live ones that do not wait, by id."),
                field("queue", &StatusAnswer::queue, "Waiting ones, next first."));
}
struct NamedStatus {
  StatusAnswer status;
  UserNames names;
};
std::string encode_status(const StatusAnswer& status, const Viewer& viewer);
Result<NamedStatus> decode_status(std::string_view text);

/// GET /v1/devices
struct DeviceList {
  UnixMs time;
  bool simulated = false;
  std::vector<DeviceView> items;
};
constexpr auto fields_of(Is<DeviceList> auto*) {
  return fields({"DeviceList", "", "berth/devices/v1"},
                field("time", &DeviceList::time, "Of the answer."),
                field("simulated", &DeviceList::simulated, "The GPUs are simulated."),
                field("items", &DeviceList::items, "All of them."));
}
struct NamedDevices {
  DeviceList list;
  UserNames names;
};
std::string encode_devices(const DeviceList& list, const UserNames& names);
Result<NamedDevices> decode_devices(std::string_view text);

/// The event `device_pressure`.
std::string encode_device(const DeviceView& device, bool simulated, const UserNames& names);
Result<DeviceView> decode_device(std::string_view text);

/// GET /v1/leases/{ref}/why, and the event `waiting`.
struct NamedWhy {
  WhyView why;
  UserNames names;
};
/// The data of the events about unmanaged processes, which nobody here reads.
std::string encode_unmanaged(const UnmanagedNews& news, const UserNames& names);
Result<UnmanagedNews> decode_unmanaged(std::string_view text);

std::string encode_why(const WhyView& why, const UserNames& names);
Result<NamedWhy> decode_why(std::string_view text);

/// GET /v1/leases/{ref}/progress
std::string encode_progress_course(const ProgressCourse& course);

/// POST /v1/fit, and the event `fit`.
std::string encode_fit(const FitView& fit, const UserNames& names);
Result<FitView> decode_fit(std::string_view text);
/// With what the holders are called.
struct NamedFit {
  FitView fit;
  UserNames names;
};
Result<NamedFit> decode_named_fit(std::string_view text);

}  // namespace berth::wire
