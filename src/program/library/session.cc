// SPDX-License-Identifier: Apache-2.0
#include "library/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "library/handles.h"
#include "os/unique_fd.h"

namespace berth::library {
namespace {

constexpr Duration kLookWithin = seconds(1);
constexpr Duration kReleasedWithin = seconds(30);

// One line for all that is missing, and nothing where nothing is.
void say_what_is_missing(const Say& say, const std::string& lease, const std::string& devices) {
  if (lease.empty() && devices.empty()) return;
  const std::string both = lease.empty() || devices.empty() ? "" : "; ";
  say(lease + both + devices +
      ": what is not known here counts as unknown, and the program goes on");
}

}  // namespace

Session::Session(const Say& say) {
  const std::string without_lease = look_at_lease();
  std::string without_devices;
  Result<Devices> devices = Devices::load();
  if (devices.ok()) {
    devices_ = *std::move(devices);
    cached_.resize(devices_->seen().size());
  } else {
    without_devices = devices.error().message;
  }
  say_what_is_missing(say, without_lease, without_devices);
}

// What there is of it, and what is to be said of what there is not. Where its files are, it lasts
// or has ended moments ago. Else the daemon knows; where that is away, the name is believed.
std::string Session::look_at_lease() {
  lease_ = lease_of_environment();
  if (!lease_) return "no lease (berth run gives a program one)";
  std::string trouble;
  if (!lease_->directory.empty()) {
    Result<LeaseLedger> ledger = LeaseLedger::open(lease_->directory);
    if (ledger.ok()) {
      ledger_ = *std::move(ledger);
      return {};
    }
    trouble = ledger.error().message;
  }
  const auto held = Daemon::at(lease_->socket).held(lease_->handle, kLookWithin);
  if (!held.ok() || *held) return trouble;
  const std::string number = std::to_string(lease_->number);
  lease_.reset();
  return "lease " + number + ", which the environment names, is over";
}

void Session::own_lease(LeaseVariables variables) {
  const std::lock_guard lock(variables_mutex_);
  variables_ = std::move(variables);
  owns_lease_.store(true);
}

Status Session::release_lease() {
  Status asked = ask(wire::Route::kRelease, ReleaseBody{}, kReleasedWithin);
  if (!asked.ok()) {
    const LeaseEnvironment& lease = checked(lease_);
    const auto held = Daemon::at(lease.socket).held(lease.handle, kLookWithin);
    if (!held.ok() || *held) return asked;
  }
  const std::lock_guard lock(variables_mutex_);
  variables_.take_back();
  return asked;
}

std::size_t Session::device_count() const {
  return devices_ ? devices_->seen().size() : 0;
}

const SeenDevice* Session::device(std::size_t index) const {
  return devices_ && index < devices_->seen().size() ? &devices_->seen()[index] : nullptr;
}

Error Session::no_device(std::size_t index) const {
  return {Errc::kNotFound, "there is no device " + std::to_string(index) + ": this process sees " +
                               std::to_string(device_count())};
}

Measured Session::measure(std::size_t device, Duration age_max) {
  Measured measured;
  const Instant now = clock_.now();
  if (device < device_count()) {
    Cached cached;
    {
      const std::lock_guard lock(mutex_);
      cached = cached_[device];
    }
    const bool is_new = cached.at.ns >= 0 && now - cached.at <= age_max && age_max.ns > 0;
    if (!is_new) {
      cached = {clock_.now(), checked(devices_).measure(device)};
      const std::lock_guard lock(mutex_);
      if (cached_[device].at < cached.at) cached_[device] = cached;
    }
    const auto figure = [&](std::optional<Bytes> bytes) {
      return Figure{bytes, cached.at, bytes ? BERTH_FROM_DRIVER : BERTH_UNKNOWN};
    };
    measured.total = figure(cached.memory.total);
    measured.used = figure(cached.memory.used);
    measured.free = figure(cached.memory.free);
    measured.own = figure(cached.memory.own);
  }
  add_lease_figures(device, now, measured);
  return measured;
}

Figure Session::host_used(Duration age_max) {
  const Instant now = clock_.now();
  {
    const std::lock_guard lock(mutex_);
    if (host_.bytes && age_max.ns > 0 && now - host_.at <= age_max) return host_;
  }
  const std::optional<Bytes> used = host_memory_used();
  const auto source = used ? BERTH_FROM_KERNEL : BERTH_UNKNOWN;
  const Figure figure = {used, now, static_cast<std::uint32_t>(source)};
  const std::lock_guard lock(mutex_);
  host_ = figure;
  return figure;
}

void Session::add_lease_figures(std::size_t device, Instant now, Measured& measured) const {
  if (!lease_) return;
  const SeenDevice* seen = this->device(device);
  std::optional<DeviceId> id = seen == nullptr ? std::nullopt : seen->id;
  if (!id && device < lease_->gpus.size()) id = lease_->gpus[device];
  if (ledger_ && id) {
    if (const auto figures = ledger_->figures(*id)) {
      measured.budget = {figures->budget, now, BERTH_FROM_LEDGER};
      const auto source = figures->used ? BERTH_FROM_LEDGER : BERTH_UNKNOWN;
      measured.lease_used = {figures->used, now, static_cast<std::uint32_t>(source)};
      return;
    }
  }
  if (lease_->budget) measured.budget = {lease_->budget, now, BERTH_FROM_ENVIRONMENT};
}

Result<std::optional<Ask>> Session::next_ask(Duration within) {
  if (!lease_) return Error{Errc::kUnavailable, "this process has no lease of which to be asked"};
  const std::unique_lock lock(listening_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return Error{Errc::kConflict, "another thread waits already for what is asked"};
  }
  if (!asks_) asks_.emplace(Daemon::at(lease_->socket), lease_->handle);
  return asks_->next(within);
}

Status Session::ask(wire::Route route, const AnyBody& body, Duration within) const {
  if (!lease_) return Error{Errc::kUnavailable, "this process has no lease"};
  TRY(answer, Daemon::at(lease_->socket).ask(route, lease_->handle, body, within));
  (void)answer;
  return Unit{};
}

Status Session::report_progress(const ProgressBody& body) {
  if (!lease_) return Error{Errc::kUnavailable, "this process has no lease"};
  const bool all_done = body.total == body.done;
  if (!pace_.is_due(clock_.now(), all_done)) return Unit{};
  const std::unique_lock lock(telling_, std::try_to_lock);
  if (!lock.owns_lock()) return Unit{};
  constexpr Duration kWithin = seconds(1);
  Status sent = ask(wire::Route::kProgress, body, kWithin);
  const bool heard = sent.ok() || (sent.error().code != Errc::kUnavailable &&
                                   sent.error().code != Errc::kTimedOut);
  heard ? pace_.sent(clock_.now(), all_done) : pace_.unheard(clock_.now());
  return sent;
}

std::optional<Bytes> host_memory_used() {
  const os::UniqueFd file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::array<char, 128> text{};
  const ssize_t count = ::read(file.get(), text.data(), text.size() - 1);
  if (count <= 0) return std::nullopt;
  // "size resident shared …", in pages.
  const char* end = text.data() + count;
  const char* at = std::strchr(text.data(), ' ');
  std::uint64_t pages = 0;
  if (at == nullptr || std::from_chars(at + 1, end, pages).ec != std::errc()) return std::nullopt;
  return Bytes{pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
}

berth_figure to_c(const Figure& figure, Instant now) {
  berth_figure sent{};
  if (!figure.bytes) return sent;
  sent.bytes = figure.bytes->value;
  sent.age_ns = now > figure.at ? static_cast<std::uint64_t>((now - figure.at).ns) : 0;
  sent.source = figure.source;
  return sent;
}

Duration age_of(std::uint64_t ns) {
  constexpr auto kLongest = static_cast<std::uint64_t>(Duration::max().ns);
  return {static_cast<std::int64_t>(std::min(ns, kLongest))};
}

bool find_session(berth_session handle, std::shared_ptr<Session>& found) {  // As the header says.
  if (handle == 0) return true;
  found = Handles::of_process().find<Session>(handle);
  return found != nullptr;
}

}  // namespace berth::library
