// SPDX-License-Identifier: Apache-2.0
#include "trainer/gpt2.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "trainer/mixed_precision.h"

namespace berth::trainer {
namespace {

constexpr double kNormEpsilon = 1e-5;
constexpr double kDeviation = 0.02;
constexpr double kLogitDeviation = 0.2;
constexpr std::int64_t kFeedForward = 4;  // Times the width.

at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor flat = input.reshape({-1, input.size(-1)});
  std::vector<std::int64_t> shape = input.sizes().vec();
  shape.back() = weight.size(1);
  return at::addmm(bias, flat, weight).view(shape);
}

at::Tensor norm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  return at::layer_norm(input, {input.size(-1)}, weight, bias, kNormEpsilon);
}

}  // namespace

// A module of modules gives its parameters names with dots; registering them flat does not, so the
// tree of the names is made of plain modules.
class Branch : public torch::nn::Module {
 public:
  at::Tensor add(const std::string& name, at::IntArrayRef shape) {
    return register_parameter(name, torch::empty(shape));
  }
  Branch& branch(const std::string& name) {
    return *register_module(name, std::make_shared<Branch>());
  }
};

Gpt2::Gpt2(const train::Gpt2Shape& shape)
    : shape_(shape), mask_(at::triu(torch::ones({shape.context, shape.context}, at::kBool), 1)) {
  const auto branch = [this](const std::string& name) {
    return register_module(name, std::make_shared<Branch>());
  };
  tokens_ = branch("wte")->add("weight", {shape.vocabulary, shape.width});
  positions_ = branch("wpe")->add("weight", {shape.context, shape.width});
  const auto layers = branch("h");
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    const std::int64_t width = shape.width;
    Branch& part = layers->branch(std::to_string(i));
    Layer layer;
    Branch& norm1 = part.branch("ln_1");
    layer.norm1_weight = norm1.add("weight", {width});
    layer.norm1_bias = norm1.add("bias", {width});
    Branch& attention = part.branch("attn");
    Branch& queries = attention.branch("c_attn");
    layer.attention_weight = queries.add("weight", {width, 3 * width});
    layer.attention_bias = queries.add("bias", {3 * width});
    Branch& projection = attention.branch("c_proj");
    layer.projection_weight = projection.add("weight", {width, width});
    layer.projection_bias = projection.add("bias", {width});
    Branch& norm2 = part.branch("ln_2");
    layer.norm2_weight = norm2.add("weight", {width});
    layer.norm2_bias = norm2.add("bias", {width});
    Branch& feed_forward = part.branch("mlp");
    Branch& inner = feed_forward.branch("c_fc");
    layer.inner_weight = inner.add("weight", {width, kFeedForward * width});
    layer.inner_bias = inner.add("bias", {kFeedForward * width});
    Branch& outer = feed_forward.branch("c_proj");
    layer.outer_weight = outer.add("weight", {kFeedForward * width, width});
    layer.outer_bias = outer.add("bias", {width});
    layers_.push_back(std::move(layer));
  }
  const auto last = branch("ln_f");
  norm_weight_ = last->add("weight", {shape.width});
  norm_bias_ = last->add("bias", {shape.width});
}

void Gpt2::initialize(std::uint64_t seed) {
  const torch::NoGradGuard no_gradients;
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  const double residual = kDeviation / std::sqrt(2.0 * static_cast<double>(shape_.layers));
  const double width = static_cast<double>(shape_.width);
  tokens_.normal_(0, std::min(kDeviation, kLogitDeviation / std::sqrt(width)), generator);
  positions_.normal_(0, kDeviation, generator);
  for (const Layer& layer : layers_) {
    for (const auto* weight : {&layer.attention_weight, &layer.inner_weight}) {
      weight->normal_(0, kDeviation, generator);
    }
    for (const auto* weight : {&layer.projection_weight, &layer.outer_weight}) {
      weight->normal_(0, residual, generator);
    }
    for (const auto* one : {&layer.norm1_weight, &layer.norm2_weight}) one->fill_(1);
    for (const auto* zero : {&layer.norm1_bias, &layer.norm2_bias, &layer.attention_bias,
                             &layer.projection_bias, &layer.inner_bias, &layer.outer_bias}) {
      zero->zero_();
    }
  }
  norm_weight_.fill_(1);
  norm_bias_.zero_();
}

at::Tensor Gpt2::attention(const Layer& layer, const at::Tensor& stream) {
  const std::int64_t rows = stream.size(0);
  const std::int64_t columns = stream.size(1);
  const std::int64_t part = shape_.width / shape_.heads;
  const auto all = linear(stream, layer.attention_weight, layer.attention_bias)
                       .view({rows, columns, 3, shape_.heads, part})
                       .permute({2, 0, 3, 1, 4});
  const double scale = 1 / std::sqrt(static_cast<double>(part));
  at::Tensor scores = at::matmul(all.select(0, 0) * scale, all.select(0, 1).transpose(-2, -1));
  const at::Tensor later = mask_.narrow(0, 0, columns).narrow(1, 0, columns);
  scores = scores.masked_fill(later, -std::numeric_limits<float>::infinity());
  const at::Tensor seen = at::matmul(at::softmax(scores, -1), all.select(0, 2));
  const at::Tensor joined = seen.transpose(1, 2).reshape({rows, columns, shape_.width});
  return linear(joined, layer.projection_weight, layer.projection_bias);
}

at::Tensor Gpt2::layer_of(const Layer& layer, const at::Tensor& stream) {
  const at::Tensor attended =
      stream + attention(layer, norm(stream, layer.norm1_weight, layer.norm1_bias));
  const at::Tensor inner = linear(norm(attended, layer.norm2_weight, layer.norm2_bias),
                                  layer.inner_weight, layer.inner_bias);
  return attended + linear(at::gelu(inner, "tanh"), layer.outer_weight, layer.outer_bias);
}

// A layer of which only what goes in is kept. Its weights are no inputs of this function: in the
// backward pass they get their gradients from a graph of its own.
class Gpt2::Recomputed : public torch::autograd::Function<Gpt2::Recomputed> {
 public:
  struct OneLayer : torch::CustomClassHolder {
    struct Place {
      Gpt2* model = nullptr;
      std::size_t layer = 0;
    };
    explicit OneLayer(const Place& of) : place(of) {}
    Place place;
  };
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& stream,
                            Gpt2* model, std::int64_t layer) {
    context->save_for_backward({stream});
    const OneLayer::Place place{.model = model, .layer = static_cast<std::size_t>(layer)};
    context->saved_data["layer"] = c10::IValue::make_capsule(c10::make_intrusive<OneLayer>(place));
    return model->layer_of(model->layers_[place.layer], stream);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto capsule = context->saved_data["layer"].toCapsule();
    const auto [model, layer] = static_cast<const OneLayer&>(*capsule).place;
    CHECK(model != nullptr);
    const at::Tensor stream = context->get_saved_variables()[0].variable_data().requires_grad_();
    const torch::AutoGradMode with_graph(true);
    const at::Tensor again = [&] {
      const MixedPrecision precision(stream.device().type(), model->precision_);
      return model->layer_of(model->layers_[layer], stream);
    }();
    torch::autograd::backward({again}, {gradients[0]});
    return {stream.grad(), at::Tensor(), at::Tensor()};
  }
};

at::Tensor Gpt2::logits(const at::Tensor& inputs) {
  const std::int64_t columns = inputs.size(1);
  CHECK(columns <= shape_.context);
  const at::Device device = tokens_.device();
  const MixedPrecision precision(device.type(), precision_);
  if (mask_.device() != device) mask_ = mask_.to(device);
  at::Tensor stream = at::embedding(tokens_, inputs.to(device)) + positions_.narrow(0, 0, columns);
  const bool recomputes = recompute_ && at::GradMode::is_enabled();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    stream = recomputes ? Recomputed::apply(stream, this, static_cast<std::int64_t>(i))
                        : layer_of(layers_[i], stream);
  }
  return at::matmul(norm(stream, norm_weight_, norm_bias_), tokens_.t()).to(at::kFloat);
}

at::Tensor Gpt2::loss(const Batch& batch) {
  return at::cross_entropy_loss(logits(batch.inputs).view({-1, shape_.vocabulary}),
                                batch.targets.reshape({-1}).to(tokens_.device()));
}

}  // namespace berth::trainer
