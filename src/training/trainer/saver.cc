// SPDX-License-Identifier: Apache-2.0
#include "trainer/saver.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "train/saved_state.h"
#include "train/state_text.h"
#include "trainer/weights.h"

namespace berth::trainer {
namespace {

using checkpoint::Dtype;

std::string directory_in(const std::string& folder) {
  return folder + "/checkpoints";
}

std::vector<std::uint64_t> shape_of(const std::vector<std::int64_t>& sizes) {
  return {sizes.begin(), sizes.end()};
}

// What a checkpoint holds, as it lies in memory of the host: of tensors of a GPU there is a copy.
struct Paths {
  struct Pair {
    at::Tensor there;
    at::Tensor here;
  };
  std::vector<Pair> pairs;
  std::vector<checkpoint::Tensor> tensors;

  const float* host(const at::Tensor& tensor) {
    pairs.push_back({.there = tensor, .here = tensor.cpu()});
    return pairs.back().here.data_ptr<float>();
  }
  void put_back() {
    const torch::NoGradGuard no_gradients;
    for (Pair& pair : pairs) {
      if (!pair.there.is_cpu()) pair.there.copy_(pair.here);
    }
  }
};

Paths paths_of(HybridTrainer& trainer) {
  Paths paths;
  std::vector<checkpoint::Tensor>& all = paths.tensors;
  const FlatParameters& parameters = trainer.parameters();
  const float* values = paths.host(parameters.values());
  for (const FlatSegment& segment : parameters.segments()) {
    all.push_back({.name = segment.name,
                   .dtype = Dtype::kF32,
                   .shape = shape_of(segment.shape),
                   .data = values + segment.begin,
                   .bytes = static_cast<std::uint64_t>(segment.count) * sizeof(float)});
  }
  for (const HybridTrainer::NamedTensor& named : trainer.tensors()) {
    all.push_back({.name = "trainer." + named.name,
                   .dtype = Dtype::kF32,
                   .shape = shape_of(named.tensor.sizes().vec()),
                   .data = paths.host(named.tensor),
                   .bytes = named.tensor.nbytes()});
  }
  return paths;
}

std::string state_of(HybridTrainer& trainer, const Corpus& corpus,
                     const train::Settings& settings) {
  train::StateText text;
  trainer.visit(text);
  train::SavedState state{
      .position = corpus.position(), .fingerprint = corpus.fingerprint(), .values = text.values()};
  for (const train::KeyAndValue& each : train::values_of(settings)) {
    state.settings.emplace_back(each.key, each.value);
  }
  return to_json(state);
}

Result<train::SavedState> read_state(const checkpoint::Loaded& loaded) {
  Result<train::SavedState> state = train::parse_saved_state(loaded.state());
  if (state.ok()) return state;
  return Error{state.error().code, loaded.path() + ": " + state.error().message};
}

Status check_settings(const train::SavedState& saved, const train::Settings& settings,
                      const std::string& path) {
  const std::vector<train::KeyAndValue> defaults = train::values_of({});
  const std::vector<train::KeyAndValue> now = train::values_of(settings);
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!train::moves_weights(now[i].key)) continue;
    // What it does not name was not there yet, and is as it was.
    const auto named =
        std::ranges::find(saved.settings, now[i].key, &std::pair<std::string, std::string>::first);
    const std::string& was = named == saved.settings.end() ? defaults[i].value : named->second;
    if (was == now[i].value) continue;
    std::string message = path + ": was saved with another ";
    message.append(now[i].key).append(", '").append(was).append("'; now it is '");
    message.append(now[i].value).append("'");
    return Error{Errc::kInvalid, std::move(message)};
  }
  return Unit{};
}

Status check_tensors(const checkpoint::Loaded& loaded,
                     const std::vector<checkpoint::Tensor>& paths) {
  for (const checkpoint::Tensor& place : paths) {
    const checkpoint::Tensor* saved = loaded.find(place.name);
    if (saved == nullptr || saved->shape != place.shape || saved->dtype != place.dtype) {
      return Error{Errc::kInvalid,
                   loaded.path() + ": holds no tensor " + place.name + " of the shape wanted"};
    }
  }
  return Unit{};
}

}  // namespace

bool has_checkpoints(const std::string& folder) {
  std::error_code none;
  const std::filesystem::directory_iterator files(directory_in(folder), none);
  return std::ranges::any_of(files, [](const std::filesystem::directory_entry& file) {
    return file.path().extension() == ".safetensors";
  });
}

Result<Saver> Saver::open(const std::string& folder, std::uint32_t keep) {
  auto store = checkpoint::Store::open({.directory = directory_in(folder), .keep_last = keep});
  if (!store.ok()) return error_of(store.failure());
  return Saver(*std::move(store));
}

Result<std::string> Saver::save(HybridTrainer& trainer, const Corpus& corpus,
                                const train::Settings& settings, checkpoint::Slot slot) {
  const Paths paths = paths_of(trainer);
  const auto saved = store_.save({.step = trainer.steps_done(),
                                  .slot = slot,
                                  .state = state_of(trainer, corpus, settings),
                                  .tensors = paths.tensors});
  if (!saved.ok()) return error_of(saved.failure());
  return saved->path;
}

Status Saver::begin_save(HybridTrainer& trainer, const Corpus& corpus,
                         const train::Settings& settings) {
  const Paths paths = paths_of(trainer);
  const auto begun = store_.save_in_background({.step = trainer.steps_done(),
                                                .state = state_of(trainer, corpus, settings),
                                                .tensors = paths.tensors});
  return begun.ok() ? Status(Unit{}) : Status(error_of(begun.failure()));
}

Result<std::string> Saver::reports() {
  for (const auto& saved : store_.reports()) {
    if (!saved.ok()) return error_of(saved.failure());
    newest_ = saved->path;
  }
  return newest_;
}

Result<std::string> Saver::finish() {
  const auto done = store_.wait();
  if (!done.ok()) return error_of(done.failure());
  return reports();
}

Result<SavedModel> load_model(const std::string& folder) {
  auto loaded = checkpoint::load_newest(directory_in(folder));
  if (!loaded.ok()) return error_of(loaded.failure());
  TRY(saved, read_state(*loaded));
  train::Settings settings;
  for (const auto& [key, value] : saved.settings) {
    const Status known = train::set(settings, key, value);
    if (known.ok()) continue;
    return Error{Errc::kInvalid, loaded->path() + ": of another version: " + known.error().message};
  }
  return SavedModel{*std::move(loaded), std::move(settings)};
}

Result<Restored> restore(const std::string& folder, HybridTrainer& trainer, Corpus& corpus,
                         const train::Settings& settings) {
  const auto loaded = checkpoint::load_newest(directory_in(folder));
  if (!loaded.ok()) return error_of(loaded.failure());
  TRY(saved, read_state(*loaded));
  TRY_STATUS(check_settings(saved, settings, loaded->path()));
  if (saved.fingerprint != corpus.fingerprint()) {
    return Error{Errc::kInvalid, loaded->path() + ": was saved while learning another text"};
  }
  Paths paths = paths_of(trainer);
  TRY_STATUS(check_tensors(*loaded, paths.tensors));
  // No weight is changed before all is known to fit. Of a state that is not whole the trainer takes
  // a part, and the run ends.
  train::StateText text(saved.values);
  trainer.visit(text);
  TRY_STATUS(text.outcome());
  for (const checkpoint::Tensor& place : paths.tensors) {
    // The places are those of buffers that we may write to; only the description is of constants.
    std::memcpy(const_cast<void*>(place.data), loaded->find(place.name)->data, place.bytes);
  }
  paths.put_back();
  corpus.seek(saved.position);
  Restored restored{.path = loaded->path()};
  for (const checkpoint::PassedOver& each : loaded->passed_over()) {
    restored.passed_over.push_back(each.path + ": " + each.why);
  }
  return restored;
}

}  // namespace berth::trainer
