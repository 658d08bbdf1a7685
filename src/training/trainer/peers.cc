// SPDX-License-Identifier: Apache-2.0
#include "trainer/peers.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/libtorch_c10d.h"

namespace berth::trainer {

struct Peers::Group {
  c10::intrusive_ptr<PeerGroup> gloo;
  std::vector<decltype(gloo->barrier())> begun = {};
};

namespace {

std::chrono::milliseconds milliseconds_of(Duration duration) {
  return std::chrono::milliseconds(duration.ns / 1'000'000);
}

// The first line, without where in the library it was written.
std::string told_by(const std::exception& exception) {
  std::string text = exception.what();
  text.resize(std::min(text.size(), text.find('\n')));
  const std::size_t place = text.starts_with('[') ? text.find("] ") : std::string::npos;
  return place == std::string::npos ? text : text.substr(place + 2);
}

}  // namespace

Peers::Peers() = default;
Peers::Peers(Peers&&) noexcept = default;
Peers& Peers::operator=(Peers&&) noexcept = default;
Peers::~Peers() = default;

Result<Peers> Peers::meet(const train::PeerPlace& place, Duration patience) {
  if (!kHasGloo) {
    return Error{Errc::kUnavailable,
                 "this berth-train trains in one process only: it was built with a libtorch that "
                 "has no headers of Gloo (Debian's has them)"};
  }
  Peers peers;
  peers.rank_ = place.rank;
  peers.size_ = place.size;
  try {
    c10d::TCPStoreOptions where = store_options();
    where.port = place.port;
    where.isServer = place.rank == 0;
    where.numWorkers = place.size;
    where.timeout = milliseconds_of(patience);
    auto store = c10::make_intrusive<c10d::TCPStore>(place.address, where);
    peers.group_ = std::make_unique<Group>(Group{make_peer_group(store, place, where.timeout)});
  } catch (const std::exception& exception) {
    return Error{Errc::kUnavailable, "the " + std::to_string(place.size) +
                                         " processes have not met at " + place.address + ":" +
                                         std::to_string(place.port) +
                                         " (MASTER_ADDR, MASTER_PORT)"
                                         ": " +
                                         told_by(exception)};
  }
  return peers;
}

Status Peers::lost(const char* why) {
  lost_ =
      Error{Errc::kUnavailable, "rank " + std::to_string(rank_) + " of " + std::to_string(size_) +
                                    ": another process is lost: " + why};
  return *lost_;
}

// What cannot be begun is told when it is waited for.
template <class Work>
void Peers::begin(const Work& work) {
  if (lost_ || !group_) return;
  try {
    group_->begun.push_back(work(*group_->gloo));
  } catch (const std::exception& exception) {
    (void)lost(told_by(exception).c_str());
  }
}

Status Peers::finish_checksums() {
  if (!group_) return Unit{};
  // What was begun uses its tensors until it is over, whatever becomes of the rest.
  for (const auto& begun : std::exchange(group_->begun, {})) {
    try {
      begun->wait();
    } catch (const std::exception& exception) {
      if (!lost_) (void)lost(told_by(exception).c_str());
    }
  }
  if (lost_) return *lost_;
  return Unit{};
}

template <class Work>
Status Peers::together(const Work& work) {
  begin(work);
  return finish_checksums();
}

Status Peers::sum(std::span<double> numbers) {
  return together([&](PeerGroup& gloo) {
    std::vector<at::Tensor> all = {
        at::from_blob(numbers.data(), {static_cast<std::int64_t>(numbers.size())}, at::kDouble)};
    return gloo.allreduce(all);
  });
}

void Peers::begin_sum(const at::Tensor& tensor) {
  CHECK(tensor.is_contiguous() && tensor.scalar_type() == at::kFloat);
  begin([&](PeerGroup& gloo) {
    std::vector<at::Tensor> all = {tensor};
    return gloo.allreduce(all);
  });
}

Status Peers::broadcast(const at::Tensor& tensor) {
  return together([&](PeerGroup& gloo) {
    std::vector<at::Tensor> all = {tensor.view({-1})};
    return gloo.broadcast(all);
  });
}

Result<bool> Peers::any(bool own) {
  double count = own ? 1 : 0;
  TRY_STATUS(sum({&count, 1}));
  return count > 0;
}

Status Peers::all_well_but(std::optional<Error> own) {
  const Result<bool> failed = any(own.has_value());
  if (own) return *own;
  if (!failed.ok()) return failed.error();
  if (!*failed) return Unit{};
  return Error{Errc::kUnavailable, "rank " + std::to_string(rank_) + " of " +
                                       std::to_string(size_) +
                                       ": another process has failed, and says why"};
}

}  // namespace berth::trainer
