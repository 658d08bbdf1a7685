// SPDX-License-Identifier: Apache-2.0
#include "cli/model_file.h"

#include <sys/stat.h>

#include <vector>

#include "berth/safetensors.h"
#include "os/files.h"

namespace berth::cli {
namespace {

constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20U;
constexpr const char* kTensorsExtension = ".safetensors";

bool is_directory(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

Result<ModelFile> from_config(const std::string& path) {
  TRY(text, os::read_file(path, kConfigBytesMax));
  Result<estimate::ModelShape> shape = estimate::parse_model_config(text);
  if (!shape.ok()) return Error{Errc::kCorrupt, path + ": " + shape.error().message};
  return ModelFile{
      .path = path, .shape = *shape, .parameters = estimate::parameters_of(*shape).total()};
}

Result<ModelFile> from_tensors(const std::string& path, const std::vector<std::string>& files) {
  ModelFile model{.path = path};
  for (const std::string& file : files) {
    const checkpoint::Outcome<checkpoint::MappedFile> mapped = checkpoint::MappedFile::open(file);
    if (!mapped.ok()) {
      const bool absent = mapped.failure().trouble == checkpoint::Trouble::kNotFound;
      return Error{absent ? Errc::kNotFound : Errc::kCorrupt, mapped.failure().message};
    }
    for (const checkpoint::Tensor& tensor : mapped->tensors()) {
      model.parameters += tensor.bytes * 8 / checkpoint::bits_of(tensor.dtype);
    }
  }
  return model;
}

}  // namespace

Result<ModelFile> read_model(const std::string& path) {
  if (path.ends_with(kTensorsExtension)) return from_tensors(path, {path});
  if (!is_directory(path)) return from_config(path);
  const std::string config = path + "/config.json";
  if (os::exists(config)) return from_config(config);
  const std::vector<std::string> files = os::files_with_extension(path, {kTensorsExtension});
  if (!files.empty()) return from_tensors(path, files);
  return Error{Errc::kNotFound, path + " holds neither config.json nor a .safetensors file"};
}

int fail_to_read(const Invocation& invocation, const Error& error) {
  if (error.code != Errc::kCorrupt) return invocation.fail(error);
  return invocation.fail(ExitCode::kDataError, error.message);
}

void TrainingWords::declare(Options& options, std::string_view batch_help) {
  options.add("-b,--batch=N", store(batch), batch_help);
  options.add("-s,--sequence=N", store(sequence), "tokens in each; 1024");
  options.add("--optimizer=WORD", store(optimizer), "which",
              {"adamw", "adam", "adamw8bit", "momentum", "sgd", "adafactor"});
  options.add("--attention=WORD", store(attention), "step by step, or in one kernel",
              texts_of<estimate::Attention>());
}

std::string TrainingWords::wrong() const {
  if (batch == 0U) return "a batch has at least one sequence";
  if (sequence == 0U) return "a sequence has at least one token";
  return "";
}

}  // namespace berth::cli
