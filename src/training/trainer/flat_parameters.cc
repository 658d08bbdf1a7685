// SPDX-License-Identifier: Apache-2.0
#include "trainer/flat_parameters.h"

#include <utility>

namespace berth::trainer {
namespace {

constexpr std::int64_t kAlignment = 16;  // Elements; 64 bytes, as the buffers themselves.

bool is_matrix(const at::Tensor& parameter) {
  return parameter.dim() >= 2;
}

}  // namespace

FlatParameters::FlatParameters(torch::nn::Module& module, at::Device device) {
  const torch::NoGradGuard no_gradients;
  auto named = module.named_parameters();
  std::int64_t end = 0;
  for (const bool decays : {true, false}) {
    for (const auto& item : named) {
      const at::Tensor& parameter = item.value();
      if (is_matrix(parameter) != decays) continue;
      CHECK(parameter.scalar_type() == at::kFloat && parameter.device().is_cpu());
      segments_.push_back({.name = item.key(),
                           .begin = end,
                           .count = parameter.numel(),
                           .shape = parameter.sizes().vec(),
                           .decays = decays});
      parameters_.push_back(parameter);
      parameter_count_ += parameter.numel();
      end += (parameter.numel() + kAlignment - 1) / kAlignment * kAlignment;
    }
    if (decays) decaying_ = end;
  }
  values_ = torch::zeros({end}, device);
  gradients_ = torch::zeros({end}, device);
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const FlatSegment& segment = segments_[i];
    const at::Tensor view = values_.narrow(0, segment.begin, segment.count).view(segment.shape);
    view.copy_(parameters_[i]);
    parameters_[i].set_data(view);
    parameters_[i].mutable_grad() =
        gradients_.narrow(0, segment.begin, segment.count).view(segment.shape);
  }
}

at::Tensor FlatParameters::like() const {
  return torch::zeros({values_.numel()}, values_.device());
}

at::Tensor FlatParameters::like(std::int64_t count) const {
  return torch::zeros({count, values_.numel()}, values_.device());
}

void FlatParameters::clear_gradients() {
  const torch::NoGradGuard no_gradients;
  gradients_.zero_();
}

double FlatParameters::gradient_norm() const {
  const torch::NoGradGuard no_gradients;
  return gradients_.norm().item<double>();
}

bool FlatParameters::is_attached(const torch::nn::Module& module) const {
  std::size_t found = 0;
  for (const auto& item : module.named_parameters()) {
    const at::Tensor& parameter = item.value();
    for (const FlatSegment& segment : segments_) {
      if (segment.name != item.key()) continue;
      ++found;
      const float* value = values_.data_ptr<float>() + segment.begin;
      const float* gradient = gradients_.data_ptr<float>() + segment.begin;
      if (parameter.data_ptr<float>() != value || !parameter.grad().defined() ||
          parameter.grad().data_ptr<float>() != gradient) {
        return false;
      }
    }
  }
  return found == segments_.size();
}

}  // namespace berth::trainer
