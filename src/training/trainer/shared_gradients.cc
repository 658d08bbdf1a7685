// SPDX-License-Identifier: Apache-2.0
#include "trainer/shared_gradients.h"

#include <utility>

namespace berth::trainer {

// Called once a parameter's gradient has been added to what was there.
class SharedGradients::Hook : public torch::autograd::FunctionPostHook {
 public:
  Hook(SharedGradients& all, std::size_t parameter) : all_(all), parameter_(parameter) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    all_.arrived(parameter_);
    return outputs;
  }

 private:
  SharedGradients& all_;
  std::size_t parameter_;
};

// From the end of the buffer on, which is where the last layers are; but vectors, which lie behind
// all matrices and of which each layer has some, are complete only when the backward pass is.
SharedGradients::SharedGradients(FlatParameters& parameters, Peers& peers,
                                 std::int64_t bucket_bytes)
    : parameters_(parameters), peers_(peers) {
  const std::vector<FlatSegment>& segments = parameters.segments();
  const std::int64_t most = bucket_bytes / static_cast<std::int64_t>(sizeof(float));
  bucket_of_.resize(segments.size());
  has_arrived_.resize(segments.size());
  const auto add = [&](bool decays, std::int64_t end) {
    bool is_first = true;
    for (std::size_t i = segments.size(); i-- > 0;) {
      const FlatSegment& segment = segments[i];
      if (segment.decays != decays) continue;
      if (is_first || buckets_.back().end - segment.begin > most) {
        buckets_.push_back({.begin = end, .end = end});
      }
      is_first = false;
      Bucket& bucket = buckets_.back();
      bucket.begin = end = segment.begin;
      ++bucket.parameters;
      bucket_of_[i] = buckets_.size() - 1;
    }
  };
  add(true, parameters.decaying());
  add(false, parameters.values().numel());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    accumulators_.push_back(torch::autograd::impl::grad_accumulator(parameters.parameter(i)));
    accumulators_.back()->add_post_hook(std::make_unique<Hook>(*this, i));
  }
}

// A graph that outlives this may hold the nodes, but is gone through no more.
SharedGradients::~SharedGradients() = default;

void SharedGradients::begin() {
  is_last_pass_ = true;
}

void SharedGradients::arrived(std::size_t parameter) {
  if (!is_last_pass_) return;
  came_twice_ = came_twice_ || has_arrived_[parameter];
  if (has_arrived_[parameter]) return;
  has_arrived_[parameter] = true;
  ++buckets_[bucket_of_[parameter]].arrived;
  send_ready();
}

void SharedGradients::send_ready() {
  while (sent_ < buckets_.size() && buckets_[sent_].arrived == buckets_[sent_].parameters) {
    send_next();
  }
}

void SharedGradients::send_next() {
  const Bucket& bucket = buckets_[sent_++];
  peers_.begin_sum(parameters_.gradients().narrow(0, bucket.begin, bucket.end - bucket.begin));
}

Status SharedGradients::finish() {
  early_ = sent_;
  while (sent_ < buckets_.size()) send_next();
  const Status outcome = peers_.finish_checksums();
  for (Bucket& bucket : buckets_) bucket.arrived = 0;
  has_arrived_.assign(has_arrived_.size(), false);
  sent_ = 0;
  is_last_pass_ = false;
  const bool came_twice = std::exchange(came_twice_, false);
  if (!outcome.ok()) return outcome.error();
  const torch::NoGradGuard no_gradients;
  parameters_.gradients().mul_(1.0 / peers_.size());
  if (!came_twice) return Unit{};
  return Error{Errc::kInvalid,
               "a parameter got its gradient in two parts: train it in one process"};
}

}  // namespace berth::trainer
