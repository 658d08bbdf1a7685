// SPDX-License-Identifier: Apache-2.0
#include "library/lease.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "guard/layout.h"
#include "os/environment.h"
#include "os/errors.h"
#include "os/unique_fd.h"

namespace berth::library {
namespace {

std::vector<DeviceId> devices_in(std::string_view list) {
  std::vector<DeviceId> devices;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (const auto device = parse_device_id(list.substr(0, comma))) devices.push_back(*device);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return devices;
}

}  // namespace

std::optional<LeaseEnvironment> lease_of_environment() {
  LeaseEnvironment lease{.handle = os::environment_variable("BERTH_LEASE_ID")};
  if (!parse_handle(lease.handle)) return std::nullopt;
  lease.number = parse_number<std::uint64_t>(os::environment_variable("BERTH_LEASE")).value_or(0);
  lease.directory = os::environment_variable("BERTH_LEASE_DIR");
  lease.socket = os::environment_variable("BERTH_SOCKET");
  lease.gpus = devices_in(os::environment_variable("BERTH_GPUS"));
  if (const auto bytes = parse_number<std::uint64_t>(os::environment_variable("BERTH_VRAM_BYTES")))
    lease.budget = Bytes{*bytes};
  return lease;
}

LeaseLedger::Mapping::~Mapping() {
  ::munmap(at, bytes);
}

Result<std::unique_ptr<LeaseLedger::Mapping>> LeaseLedger::map(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return os::system_error("cannot open " + path, errno);
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return os::system_error("cannot read " + path, errno);
  const auto bytes = static_cast<std::size_t>(found.st_size);
  if (bytes == 0) return Error{Errc::kCorrupt, path + " is empty"};
  void* at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) return os::system_error("cannot map " + path, errno);
  return std::make_unique<Mapping>(at, bytes);
}

LeaseLedger::LeaseLedger(std::unique_ptr<Mapping> limit, std::unique_ptr<Mapping> use)
    : limit_(std::move(limit)), use_(std::move(use)) {}

Result<LeaseLedger> LeaseLedger::open(const std::string& directory) {
  TRY(limit, map(directory + "/limit"));
  TRY(use, map(directory + "/use"));
  LeaseLedger ledger(std::move(limit), std::move(use));
  const auto* limits = static_cast<const guard::LimitFile*>(ledger.limit_->at);
  const auto* uses = static_cast<const guard::UseFile*>(ledger.use_->at);
  const bool whole = ledger.limit_->bytes >= sizeof(guard::LimitFile) &&
                     ledger.use_->bytes >= guard::use_file_size(1);
  if (!whole || limits->magic != guard::kLimitMagic || uses->magic != guard::kUseMagic) {
    return Error{Errc::kCorrupt, "the files in " + directory + " are none of a lease"};
  }
  if (limits->layout != guard::kLayout || uses->layout != guard::kLayout ||
      limits->device_size != sizeof(guard::LimitDevice) || uses->slot_count != guard::kSlotsMax) {
    return Error{Errc::kVersion, "the files in " + directory + " are of another version of Berth"};
  }
  ledger.device_count_ = std::min(limits->device_count, guard::kDevicesMax);
  if (ledger.use_->bytes < guard::use_file_size(ledger.device_count_)) {
    return Error{Errc::kCorrupt, directory + "/use is too short"};
  }
  return ledger;
}

// A program in the lease can cut `use` off, and to read what is mapped behind its end would end
// the program: so the kernel is asked before, as guard/linux.cc does.
bool LeaseLedger::is_there() const {
  constexpr long kNoWay = 99;  // To change the mask of signals: nothing is changed.
  constexpr std::size_t kSize = 8;
  const auto* last =
      static_cast<const char*>(use_->at) + guard::use_file_size(device_count_) - kSize;
  return ::syscall(SYS_rt_sigprocmask, kNoWay, last, nullptr, kSize) == 0 || errno != EFAULT;
}

std::optional<LeaseFigures> LeaseLedger::figures(DeviceId device) const {
  if (!is_there()) return std::nullopt;
  const auto* limits = static_cast<const guard::LimitFile*>(limit_->at);
  const auto* uses = static_cast<const guard::UseFile*>(use_->at);
  const std::array<std::uint8_t, 16> uuid = uuid_bytes(device);
  for (std::uint32_t i = 0; i < device_count_; ++i) {
    const guard::LimitDevice& limit = limits->devices[i];
    if (std::memcmp(limit.uuid, uuid.data(), uuid.size()) != 0) continue;
    LeaseFigures figures{.budget = Bytes{limit.budget.load(std::memory_order_relaxed)}, .used = {}};
    const std::uint32_t seen = std::min(uses->slots_seen.load(), guard::kSlotsMax);
    if (seen == 0) return figures;
    Bytes used = {limit.unaccounted.load(std::memory_order_relaxed)};
    for (std::uint32_t slot = 0; slot < seen; ++slot) {
      if (uses->owners[slot].identity.load(std::memory_order_relaxed) == 0) continue;
      used = used + Bytes{uses->slots[i][slot].used.load(std::memory_order_relaxed)};
    }
    figures.used = used;
    return figures;
  }
  return std::nullopt;
}

}  // namespace berth::library
