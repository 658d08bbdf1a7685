// SPDX-License-Identifier: Apache-2.0
// The processes that train one model together, each with its share of every batch. Whatever all
// must decide alike is decided by numbers that were summed up over all of them, which have the same
// bits everywhere. Every function that waits is called by all, in the same order. One thread.
//
// Note [Peers]: through libtorch's c10d (https://pytorch.org/docs/1.13/distributed.html): a
// TCPStore at rank 0, where all find one another, and Gloo's all-reduce, each element of which is
// summed up at one rank and handed on from there. A process that ends closes its connections: the
// others notice at once. A machine that falls silent is given up after kPatience.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/units.h"
#include "train/peer_place.h"
#include "trainer/libtorch.h"

namespace berth::trainer {

class Peers {
 public:
  /// Nobody but this process: nothing waits, and what is summed up stays as it is.
  Peers();
  Peers(Peers&&) noexcept;
  Peers& operator=(Peers&&) noexcept;
  ~Peers();

  /// Waits for all others. kUnavailable where they do not come.
  static Result<Peers> meet(const train::PeerPlace& place, Duration patience = kPatience);

  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return size_; }
  /// The one that writes files and speaks for all.
  bool is_first() const { return rank_ == 0; }

  // These fail with kUnavailable when another process is lost, and from then on always.

  /// Each number becomes the sum of all ranks' numbers in its place.
  Status sum(std::span<double> numbers);
  /// Each element becomes the sum of all ranks'; it is so once finish_checksums() says so, and
  /// until then nobody touches it. Contiguous, of 32 bits.
  void begin_sum(const at::Tensor& tensor);
  /// Waits for all that was begun.
  Status finish_checksums();
  /// All get what rank 0 has.
  Status broadcast(const at::Tensor& tensor);
  /// Whether it is so for any of them.
  Result<bool> any(bool own);
  /// This process' own failure, or that of another, or none.
  template <class T>
  Status all_well(const Result<T>& own) {
    return all_well_but(own.ok() ? std::nullopt : std::optional(own.error()));
  }

  static constexpr Duration kPatience = {600'000'000'000};
  static constexpr std::int64_t kBucketBytes = std::int64_t{25} << 20;  // PyTorch's own choice.

 private:
  struct Group;
  Status lost(const char* why);
  Status all_well_but(std::optional<Error> own);
  template <class Work>
  Status together(const Work& work);
  template <class Work>
  void begin(const Work& work);

  std::unique_ptr<Group> group_;  // Null: alone.
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 1;
  std::optional<Error> lost_;
};

}  // namespace berth::trainer
