// SPDX-License-Identifier: Apache-2.0
// Store and Loaded of include/berth/checkpoint.h: nothing but the way from there to Writer and
// CheckpointDirectory and back.
#include <algorithm>
#include <string_view>
#include <utility>

#include "berth/checkpoint.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/outcome.h"
#include "checkpoint/writer.h"

namespace berth::checkpoint {

class Loaded::Impl {
 public:
  explicit Impl(Newest newest)
      : path(std::move(newest.checkpoint.path)),
        about(std::move(newest.checkpoint.about)),
        file(std::move(newest.checkpoint.content)),
        passed_over(std::move(newest.passed_over)) {}

  std::string path;
  CheckpointInfo about;
  MappedFile::Impl file;
  std::vector<PassedOver> passed_over;
};

Loaded::Loaded(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Loaded::Loaded(Loaded&&) noexcept = default;
Loaded& Loaded::operator=(Loaded&&) noexcept = default;
Loaded::~Loaded() = default;

std::uint64_t Loaded::step() const noexcept {
  return impl_->about.step;
}

Slot Loaded::slot() const noexcept {
  return impl_->about.slot;
}

const std::string& Loaded::path() const noexcept {
  return impl_->path;
}

const std::string& Loaded::state() const noexcept {
  return impl_->about.state;
}

const std::vector<Tensor>& Loaded::tensors() const noexcept {
  return impl_->file.content.tensors;
}

const Tensor* Loaded::find(const std::string& name) const noexcept {
  return impl_->file.find(name);
}

const std::vector<PassedOver>& Loaded::passed_over() const noexcept {
  return impl_->passed_over;
}

Outcome<Loaded> load_newest(const std::string& directory, std::optional<Slot> slot) {
  return guarded<Loaded>([&]() -> Outcome<Loaded> {
    Result<Newest> newest = read_newest(directory, slot);
    if (!newest.ok()) return failure_of(newest.error());
    return Loaded(std::make_unique<Loaded::Impl>(*std::move(newest)));
  });
}

class Store::Impl {
 public:
  explicit Impl(std::unique_ptr<Writer> given) : writer(std::move(given)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    // The child of a fork cannot end a thread that it does not have: it leaves all as it is.
    if (!writer->in_a_child()) return;
    [[maybe_unused]] const Writer* left = writer.release();
  }

  std::unique_ptr<Writer> writer;
};

Store::Store(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Outcome<Store> Store::open(const Options& options) {
  return guarded<Store>([&]() -> Outcome<Store> {
    Result<std::unique_ptr<Writer>> writer = Writer::start(std::make_unique<PosixDisk>(), options);
    if (!writer.ok()) return failure_of(writer.error());
    return Store(std::make_unique<Impl>(*std::move(writer)));
  });
}

Outcome<Saved> Store::save(const Snapshot& snapshot) {
  return guarded<Saved>([&] { return outcome_of(impl_->writer->save(snapshot)); });
}

Outcome<Store::Stall> Store::save_in_background(const Snapshot& snapshot) {
  return guarded<Stall>([&] { return outcome_of(impl_->writer->save_in_background(snapshot)); });
}

Outcome<Nothing> Store::reserve(std::uint64_t bytes) {
  return guarded<Nothing>([&] { return outcome_of(impl_->writer->reserve(bytes)); });
}

Outcome<Nothing> Store::wait() {
  return guarded<Nothing>([&] { return outcome_of(impl_->writer->wait()); });
}

std::vector<Outcome<Saved>> Store::reports() {
  std::vector<Outcome<Saved>> reports;
  for (Result<Saved>& report : impl_->writer->reports()) {
    reports.push_back(outcome_of(std::move(report)));
  }
  return reports;
}

}  // namespace berth::checkpoint
