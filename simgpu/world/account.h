// SPDX-License-Identifier: Apache-2.0
// The account of one simulated device: who uses how many 2 MiB blocks, exactly, in memory that
// many processes share and in which any of them may be stopped or killed at any instruction. It
// takes no lock. See Note [Accounts without a lock] in account.cc. Any thread of any process may
// call it; what one slot does must be serialised by its owner.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace berth::simgpu {

constexpr std::uint64_t kBlockBytes = std::uint64_t{2} << 20U;
constexpr std::uint32_t kSlotsMax = 1024;

/// A slot's part in a device: owned by one process, settled by any that comes by.
struct Share {
  std::atomic<std::uint64_t> applied;  // Sequence number and blocks used, after that operation.
  std::atomic<std::uint64_t> intent;   // The same, as it will be after the slot's next operation.
};

struct Account {
  std::atomic<std::uint64_t> word;      // Blocks used, and the operation that made it so.
  std::atomic<std::uint64_t> used_max;  // The most blocks that were ever used.
};

/// An account and the shares of all slots in it. The memory is the caller's.
class AccountView {
 public:
  /// share_of(slot) is at first + slot * stride bytes.
  AccountView(Account& account, Share& first, std::size_t stride)
      : account_(account), first_(&first), stride_(stride) {}

  /// Adds blocks to a slot's use and returns the device's use after it; nothing, and nothing
  /// changed, if that would exceed the limit.
  [[nodiscard]] std::optional<std::uint64_t> charge(std::uint32_t slot, std::uint64_t blocks,
                                                    std::uint64_t limit);

  /// Takes blocks from a slot's use, which has that many; returns the device's use after it.
  std::uint64_t release(std::uint32_t slot, std::uint64_t blocks);

  struct Cleared {
    std::uint64_t blocks = 0;  // What this call took: of several that try at once, one takes all.
    std::uint64_t used = 0;    // The device's use after it.
  };
  /// Takes all blocks of a slot whose owner is dead. The caller has made sure *after* `seen` was
  /// read that the slot still belongs to that dead owner.
  Cleared clear_dead(std::uint32_t slot, std::uint64_t seen);

  /// The account's word with its operation settled: to be handed to clear_dead.
  std::uint64_t settle();

  std::uint64_t used();
  std::uint64_t used_max() const { return account_.used_max.load(); }
  std::uint64_t used_by(std::uint32_t slot) const;

 private:
  Share& share(std::uint32_t slot) const;
  void apply(std::uint64_t word);

  Account& account_;
  Share* first_;
  std::size_t stride_;
};

}  // namespace berth::simgpu
