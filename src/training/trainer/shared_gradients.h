// SPDX-License-Identifier: Apache-2.0
// The mean of gradients over processes, begun while the backward pass still runs: it goes through
// the layers from the last to the first, and what it has left behind is on its way meanwhile, a
// bucket of neighbours at a time (Li et al. 2020, arXiv 2006.15704). One thread.
//
// Note [Order of buckets]: what all processes do together they must begin in the same order, and a
// backward pass that has failed at one has left its gradients in another. So a bucket goes when all
// before it have gone, and finish() sends what is left, whatever it holds: of what failed nothing
// is used.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "trainer/flat_parameters.h"
#include "trainer/libtorch.h"
#include "trainer/peers.h"

namespace berth::trainer {

class SharedGradients {
 public:
  /// Both must outlive it.
  SharedGradients(FlatParameters& parameters, Peers& peers,
                  std::int64_t bucket_bytes = Peers::kBucketBytes);
  ~SharedGradients();
  SharedGradients(const SharedGradients&) = delete;
  SharedGradients& operator=(const SharedGradients&) = delete;

  /// The next backward pass is the last that adds to the gradients.
  void begin();
  /// Waits for all buckets, of all processes: gradients are the mean then. kUnavailable: another is
  /// lost. kInvalid: a parameter got its gradient in two parts, so that one of them is missing.
  Status finish();

  std::size_t buckets() const { return buckets_.size(); }
  /// Of the last step, those that were on their way before the backward pass was over.
  std::size_t early() const { return early_; }

 private:
  class Hook;
  struct Bucket {
    std::int64_t begin = 0;  // In elements of the buffer.
    std::int64_t end = 0;
    std::size_t parameters = 0;
    std::size_t arrived = 0;
  };
  void arrived(std::size_t parameter);
  void send_ready();
  void send_next();

  FlatParameters& parameters_;
  Peers& peers_;
  std::vector<Bucket> buckets_;         // In the order in which they go.
  std::vector<std::size_t> bucket_of_;  // Of each parameter.
  std::vector<bool> has_arrived_;
  // Of the parameters, which hold them only weakly: graphs own them too.
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
  std::size_t sent_ = 0;
  std::size_t early_ = 0;
  bool is_last_pass_ = false;
  bool came_twice_ = false;
};

}  // namespace berth::trainer
