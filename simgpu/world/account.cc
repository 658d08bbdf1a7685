// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/account.h"

#include "base/check.h"

// Note [Accounts without a lock]
//
// The driver of a real GPU counts inside the kernel: a process that is stopped or killed in the
// middle of an allocation holds nobody up and leaves nothing behind. A lock in shared memory would
// do both, so there is none.
//
// An operation of a slot is committed by one compare-and-swap on the account's word, which holds
// the blocks in use and names the operation (slot, sequence number) that made it so. What the
// operation does to the slot's own figure was written beforehand to the slot's `intent`; the
// process that reads the word next carries it over to `applied` before doing anything of its own:
//
//   killed before the swap    the operation never was; the next intent of that slot replaces it
//   killed after the swap     the next reader applies it
//   stopped anywhere          nobody waits: the others' swaps succeed, the stopped one's fails
//
// A word therefore never comes back: a slot's sequence number grows with each of its operations,
// and a slot's intent is not rewritten while its operation is unapplied. As every operation is
// settled before the next one is committed, the high-water mark sees each total.
//
//   word              blocks 20 | clear 1 | slot 11 | sequence 32
//   applied, intent   blocks 32 | sequence 32
//
// `clear` marks an operation done to a dead slot by another process: the slot has 0 blocks after
// it, and the intent, which its owner may have left half-done, does not count.

namespace berth::simgpu {
namespace {

constexpr std::uint64_t kBlocksMax = (1U << 20U) - 1;

struct Word {
  std::uint64_t blocks;
  bool clear;
  std::uint32_t slot;
  std::uint32_t sequence;
};

Word unpack(std::uint64_t word) {
  return {.blocks = word >> 44U,
          .clear = ((word >> 43U) & 1U) != 0,
          .slot = static_cast<std::uint32_t>(word >> 32U) & 0x7ffU,
          .sequence = static_cast<std::uint32_t>(word)};
}

std::uint64_t pack(const Word& word) {
  return word.blocks << 44U | std::uint64_t{word.clear} << 43U | std::uint64_t{word.slot} << 32U |
         word.sequence;
}

std::uint64_t pack_share(std::uint64_t blocks, std::uint32_t sequence) {
  return blocks << 32U | sequence;
}
std::uint64_t blocks_of(std::uint64_t share) {
  return share >> 32U;
}
std::uint32_t sequence_of(std::uint64_t share) {
  return static_cast<std::uint32_t>(share);
}

}  // namespace

Share& AccountView::share(std::uint32_t slot) const {
  CHECK(slot < kSlotsMax);
  auto* at = reinterpret_cast<std::byte*>(first_) + slot * stride_;
  return *reinterpret_cast<Share*>(at);
}

void AccountView::apply(std::uint64_t packed) {
  const Word word = unpack(packed);
  std::uint64_t highest = account_.used_max.load();
  while (highest < word.blocks && !account_.used_max.compare_exchange_weak(highest, word.blocks)) {
  }
  if (word.slot >= kSlotsMax) return;  // The file is damaged; there is no such share.
  Share& share = this->share(word.slot);
  std::uint64_t applied = share.applied.load();
  if (sequence_of(applied) + 1 != word.sequence) return;  // Done already.
  std::uint64_t after = pack_share(0, word.sequence);
  if (!word.clear) {
    after = share.intent.load();
    if (sequence_of(after) != word.sequence) return;  // Done, and the owner is at its next one.
  }
  share.applied.compare_exchange_strong(applied, after);
}

std::uint64_t AccountView::settle() {
  const std::uint64_t word = account_.word.load();
  apply(word);
  return word;
}

std::optional<std::uint64_t> AccountView::charge(std::uint32_t slot, std::uint64_t blocks,
                                                 std::uint64_t limit) {
  Share& share = this->share(slot);
  for (;;) {
    std::uint64_t word = settle();
    const std::uint64_t used = unpack(word).blocks;
    if (blocks > kBlocksMax || used + blocks > limit || used + blocks > kBlocksMax)
      return std::nullopt;
    const std::uint64_t before = share.applied.load();
    const std::uint32_t sequence = sequence_of(before) + 1;
    share.intent.store(pack_share(blocks_of(before) + blocks, sequence));
    const Word next{.blocks = used + blocks, .clear = false, .slot = slot, .sequence = sequence};
    if (account_.word.compare_exchange_strong(word, pack(next))) {
      apply(pack(next));
      return next.blocks;
    }
  }
}

std::uint64_t AccountView::release(std::uint32_t slot, std::uint64_t blocks) {
  Share& share = this->share(slot);
  for (;;) {
    std::uint64_t word = settle();
    const std::uint64_t used = unpack(word).blocks;
    const std::uint64_t before = share.applied.load();
    CHECK(blocks <= blocks_of(before) && blocks <= used);
    const std::uint32_t sequence = sequence_of(before) + 1;
    share.intent.store(pack_share(blocks_of(before) - blocks, sequence));
    const Word next{.blocks = used - blocks, .clear = false, .slot = slot, .sequence = sequence};
    if (account_.word.compare_exchange_strong(word, pack(next))) {
      apply(pack(next));
      return next.blocks;
    }
  }
}

AccountView::Cleared AccountView::clear_dead(std::uint32_t slot, std::uint64_t seen) {
  const std::uint64_t applied = share(slot).applied.load();
  const std::uint64_t blocks = blocks_of(applied);
  const Word word = unpack(seen);
  // More blocks than the account had: `seen` is old, and another process has taken them meanwhile.
  if (blocks == 0 || blocks > word.blocks) return {};
  const Word next{.blocks = word.blocks - blocks,
                  .clear = true,
                  .slot = slot,
                  .sequence = sequence_of(applied) + 1};
  if (!account_.word.compare_exchange_strong(seen, pack(next))) return {};
  apply(pack(next));
  return {.blocks = blocks, .used = next.blocks};
}

std::uint64_t AccountView::used() {
  return unpack(settle()).blocks;
}

std::uint64_t AccountView::used_by(std::uint32_t slot) const {
  return blocks_of(share(slot).applied.load());
}

}  // namespace berth::simgpu
