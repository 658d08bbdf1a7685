// SPDX-License-Identifier: Apache-2.0
#include "trainer/weights.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "berth/safetensors.h"

namespace berth::trainer {
namespace {

// Note [llm.c's checkpoints]: 256 numbers of four bytes: 20240326, 3 (or 5: bfloat16), the context,
// the vocabulary, layers, heads, width, and the vocabulary rounded up to 128. Then all weights, of
// each kind those of all layers, matrices as [out, in], where ours are [in, out]; the embedding
// with rows of zeros at its end (train_gpt2.c and train_gpt2.py there, 2025).
constexpr std::size_t kHeader = 256;
constexpr std::int32_t kMagic = 20'240'326;
constexpr std::int32_t kFloats = 3;
constexpr std::int32_t kHalves = 5;
constexpr std::int64_t kRoundUp = 128;
constexpr std::string_view kEmbedding = "wte.weight";

struct Kind {
  std::string_view name;
  bool is_turned = false;  // A matrix that stands there the other way round.
};
constexpr std::array<Kind, 12> kOfLayers = {{{"ln_1.weight"},
                                             {"ln_1.bias"},
                                             {"attn.c_attn.weight", true},
                                             {"attn.c_attn.bias"},
                                             {"attn.c_proj.weight", true},
                                             {"attn.c_proj.bias"},
                                             {"ln_2.weight"},
                                             {"ln_2.bias"},
                                             {"mlp.c_fc.weight", true},
                                             {"mlp.c_fc.bias"},
                                             {"mlp.c_proj.weight", true},
                                             {"mlp.c_proj.bias"}}};

struct Place {
  std::string name;
  bool is_turned = false;
};

std::vector<Place> paths_of(const train::Gpt2Shape& shape) {
  std::vector<Place> places = {{std::string(kEmbedding)}, {"wpe.weight"}};
  for (const Kind& kind : kOfLayers) {
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      places.push_back(
          {"h." + std::to_string(layer) + "." + std::string(kind.name), kind.is_turned});
    }
  }
  places.push_back({"ln_f.weight"});
  places.push_back({"ln_f.bias"});
  return places;
}

std::int64_t rounded_up(std::int64_t vocabulary) {
  return (vocabulary + kRoundUp - 1) / kRoundUp * kRoundUp;
}

std::array<std::int32_t, kHeader> header_of(const train::Gpt2Shape& shape) {
  std::array<std::int32_t, kHeader> header{};
  const std::array<std::int64_t, 8> numbers = {
      kMagic,       kFloats,     shape.context, shape.vocabulary,
      shape.layers, shape.heads, shape.width,   rounded_up(shape.vocabulary)};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    header[i] = static_cast<std::int32_t>(numbers[i]);
  }
  return header;
}

using Weights = std::map<std::string, at::Tensor>;

Weights weights_of(const torch::nn::Module& model) {
  Weights weights;
  for (const auto& item : model.named_parameters()) weights.emplace(item.key(), item.value());
  return weights;
}

Error not_fit(const std::string& path, const std::string& what) {
  return {Errc::kInvalid, path + ": " + what};
}

std::vector<std::uint64_t> sizes_of(const at::Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}

Status read_safetensors(const std::string& path, Gpt2& model) {
  const auto file = checkpoint::MappedFile::open(path);
  if (!file.ok()) return error_of(file.failure());
  return copy_weights(path, [&](const std::string& name) { return file->find(name); }, model);
}

Status write_safetensors(const std::string& path, const Gpt2& model) {
  std::vector<checkpoint::Tensor> tensors;
  for (const auto& [name, weight] : weights_of(model)) {
    tensors.push_back({.name = name,
                       .dtype = checkpoint::Dtype::kF32,
                       .shape = sizes_of(weight),
                       .data = weight.data_ptr(),
                       .bytes = weight.nbytes()});
  }
  const auto written = checkpoint::write_file(path, tensors, {{"format", "pt"}});
  return written.ok() ? Status(Unit{}) : Status(error_of(written.failure()));
}

// As it stands in the file, with what comes behind its last row.
at::Tensor in_file(const Place& place, const at::Tensor& weight) {
  at::Tensor turned = (place.is_turned ? weight.t() : weight).variable_data().contiguous();
  if (place.name != kEmbedding) return turned;
  const std::int64_t more = rounded_up(weight.size(0)) - weight.size(0);
  return more == 0 ? turned : at::cat({turned, torch::zeros({more, weight.size(1)})});
}

at::Tensor read_numbers(std::ifstream& file, at::IntArrayRef shape, bool halves) {
  at::Tensor numbers = torch::empty(shape, halves ? at::kBFloat16 : at::kFloat);
  file.read(static_cast<char*>(numbers.data_ptr()), static_cast<std::streamsize>(numbers.nbytes()));
  return numbers.to(at::kFloat);
}

Status read_llm_c(const std::string& path, Gpt2& model) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{Errc::kNotFound, path + ": cannot be read"};
  std::array<std::int32_t, kHeader> header{};
  file.read(reinterpret_cast<char*>(header.data()), sizeof header);
  if (!file || header[0] != kMagic) return not_fit(path, "is no checkpoint of llm.c");
  const bool halves = header[1] == kHalves;
  if (header[1] != kFloats && !halves) {
    return not_fit(path, "is of version " + std::to_string(header[1]) +
                             "; 3 (32 bits) and 5 (bfloat16) are known here");
  }
  std::array<std::int32_t, kHeader> expected = header_of(model.shape());
  expected[1] = header[1];
  if (header != expected) {
    return not_fit(path, "is of another model: context " + std::to_string(header[2]) +
                             ", vocabulary " + std::to_string(header[3]) + ", layers " +
                             std::to_string(header[4]) + ", heads " + std::to_string(header[5]) +
                             ", width " + std::to_string(header[6]));
  }
  const torch::NoGradGuard no_gradients;
  const Weights weights = weights_of(model);
  for (const Place& place : paths_of(model.shape())) {
    const at::Tensor& weight = weights.at(place.name);
    std::vector<std::int64_t> shape = weight.sizes().vec();
    if (place.is_turned) std::swap(shape[0], shape[1]);
    if (place.name == kEmbedding) shape[0] = rounded_up(shape[0]);
    at::Tensor numbers = read_numbers(file, shape, halves);
    if (!file) return not_fit(path, "ends within " + place.name);
    if (place.is_turned) numbers = numbers.t();
    if (place.name == kEmbedding) numbers = numbers.narrow(0, 0, weight.size(0));
    weight.copy_(numbers);
  }
  if (file.peek() != std::ifstream::traits_type::eof())
    return not_fit(path, "goes on behind its end");
  return Unit{};
}

Status write_llm_c(const std::string& path, const Gpt2& model) {
  const std::string beside = path + ".tmp." + std::to_string(::getpid());
  {
    std::ofstream file(beside, std::ios::binary);
    const auto header = header_of(model.shape());
    file.write(reinterpret_cast<const char*>(header.data()), sizeof header);
    const Weights weights = weights_of(model);
    for (const Place& place : paths_of(model.shape())) {
      const at::Tensor numbers = in_file(place, weights.at(place.name));
      file.write(static_cast<const char*>(numbers.data_ptr()),
                 static_cast<std::streamsize>(numbers.nbytes()));
    }
    file.close();
    if (!file) {
      std::remove(beside.c_str());
      return Error{Errc::kIo, path + ": cannot be written"};
    }
  }
  std::error_code failure;
  std::filesystem::rename(beside, path, failure);
  if (!failure) return Unit{};
  std::remove(beside.c_str());
  return Error{Errc::kIo, path + ": " + failure.message()};
}

}  // namespace

Error error_of(const checkpoint::Failure& failure) {
  switch (failure.trouble) {
    case checkpoint::Trouble::kNotFound:
      return {Errc::kNotFound, failure.message};
    case checkpoint::Trouble::kCorrupt:
      return {Errc::kCorrupt, failure.message};
    case checkpoint::Trouble::kFull:
      return {Errc::kFull, failure.message};
    case checkpoint::Trouble::kConflict:
      return {Errc::kConflict, failure.message};
    case checkpoint::Trouble::kInvalid:
    case checkpoint::Trouble::kIo:
    case checkpoint::Trouble::kPermission:
    case checkpoint::Trouble::kExhausted:
    case checkpoint::Trouble::kUnavailable:
      break;
  }
  return {Errc::kIo, failure.message};
}

Status copy_weights(const std::string& path, const FindTensor& find, torch::nn::Module& model) {
  const Weights weights = weights_of(model);
  for (const auto& [name, weight] : weights) {
    const checkpoint::Tensor* saved = find(name);
    if (saved == nullptr) return not_fit(path, "holds no tensor " + name);
    if (saved->dtype != checkpoint::Dtype::kF32 || saved->shape != sizes_of(weight)) {
      return not_fit(path, name + " is not of the shape, or not of the 32 bits, that are wanted");
    }
  }
  const torch::NoGradGuard no_gradients;
  for (const auto& [name, weight] : weights) {
    // It is read, and never written to.
    auto* data = const_cast<void*>(find(name)->data);
    weight.copy_(torch::from_blob(data, weight.sizes(), at::kFloat));
  }
  return Unit{};
}

Status read_weights(const std::string& path, Gpt2& model) {
  if (path.ends_with(".safetensors")) return read_safetensors(path, model);
  if (path.ends_with(".bin")) return read_llm_c(path, model);
  return not_fit(path, "weights are read from files named .safetensors and .bin (llm.c's)");
}

Status write_weights(const std::string& path, const Gpt2& model) {
  if (path.ends_with(".safetensors")) return write_safetensors(path, model);
  if (path.ends_with(".bin")) return write_llm_c(path, model);
  return not_fit(path, "weights are written to files named .safetensors and .bin (llm.c's)");
}

}  // namespace berth::trainer
