// SPDX-License-Identifier: Apache-2.0
// The account that the programs of a lease keep together, when one of them writes anything into it.
// The others charge and give back, as the input says: nobody is kept waiting, and what was charged
// is within the budget by what the account said then.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "bytes.h"
#include "fuzz.h"
#include "guard/ledger.h"
#include "guard/ledger_files_for_test.h"

namespace {

using berth::guard::Ledger;

using berth::guard::Life;

Life odd_ones_live(berth::guard::Identity identity) {
  return (berth::guard::pid_of(identity) & 1U) != 0 ? Life::kLives : Life::kGone;
}

void step(berth::fuzz::Bytes& input, Ledger& ledger) {
  const std::uint8_t what = input.number<std::uint8_t>();
  const std::uint32_t device = what / 16U % ledger.device_count();
  const std::uint64_t bytes = std::uint64_t{input.number<std::uint16_t>()} << 18U;
  const std::uint64_t before = ledger.used_by_us(device);
  const Ledger::Wait wait{.device = device, .bytes = bytes, .since = bytes};
  // An input that writes that its owner is dead has a slot cleared.
  const auto is_by_us = [&](std::uint64_t used) {
    return ledger.used_by_us(device) == used || ledger.used_by_us(device) == 0;
  };
  switch (what % 8U) {
    case 0:
    case 1:
      if (ledger.charge(device, bytes) == Ledger::Charged::kYes) {
        CHECK(ledger.used(device) <= ledger.budget(device));
        CHECK(is_by_us(before + bytes) || is_by_us(bytes));
      } else {
        CHECK(is_by_us(before));
      }
      return;
    case 2:
      ledger.release(device, bytes);
      CHECK(ledger.used_by_us(device) == (before > bytes ? before - bytes : 0));
      return;
    case 3:
      (void)ledger.sweep();
      CHECK(is_by_us(before));
      return;
    case 4:
      ledger.begin_wait(wait);
      (void)ledger.is_last_of_a_circle();
      ledger.end_wait(wait);
      return;
    case 5:
      ledger.set_context(device, bytes);
      ledger.set_at_most(device);
      return;
    case 6:
      (void)ledger.movement();
      CHECK(ledger.total_shown(device, bytes) <= bytes);
      return;
    default:
      ledger.wait(ledger.before_try() + 1, 1);
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  berth::fuzz::Bytes input(data, size);
  const auto devices = 1 + input.number<std::uint8_t>() % 2U;
  const berth::guard::Files files(berth::guard::kMiB << 12U, devices);
  auto* use = reinterpret_cast<char*>(files.use);
  const std::size_t use_size = berth::guard::Files::use_bytes(devices);
  // Others were there before us, who are alive or not by the last bit of their numbers.
  input.scribble(use, use_size, input.number<std::uint8_t>() % 16U);
  Ledger ours;
  Ledger theirs;
  using Attached = Ledger::Attached;
  const bool is_there =
      files.attach(ours, berth::guard::process(3, &odd_ones_live)) == Attached::kYes;
  const bool are_there =
      files.attach(theirs, berth::guard::process(5, &odd_ones_live)) == Attached::kYes;
  if (!is_there || !are_there) return 0;
  for (int steps = 0; steps < 64 && !input.empty(); ++steps) {
    if (input.number<std::uint8_t>() % 4U == 0) input.scribble(use, use_size, 1);
    step(input, steps % 2 == 0 ? ours : theirs);
  }
  return 0;
}
