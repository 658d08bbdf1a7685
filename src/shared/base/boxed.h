// SPDX-License-Identifier: Apache-2.0
// A value on the heap that behaves as one in place: for the large alternatives of a variant, all of
// which are as large as the largest. Pure; as safe to share between threads as the value.
#pragma once

#include <memory>
#include <utility>

namespace berth {

/// Copied with its value; never empty, but after it was moved from: then it can only be assigned
/// to, copied or ended.
template <class T>
class Boxed {
 public:
  Boxed() : value_(std::make_unique<T>()) {}
  Boxed(T value)  // NOLINT(google-explicit-constructor): it stands for the value.
      : value_(std::make_unique<T>(std::move(value))) {}
  // The analyzer loses the pointer in the unions of a variant.
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks)
  Boxed(const Boxed& other) : value_(other.copied()) {}
  Boxed(Boxed&& other) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    if (this != &other) value_ = other.copied();
    return *this;
  }
  Boxed& operator=(Boxed&& other) noexcept = default;
  ~Boxed() = default;

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

  friend bool operator==(const Boxed& a, const Boxed& b) { return *a == *b; }

 private:
  std::unique_ptr<T> copied() const { return value_ ? std::make_unique<T>(*value_) : nullptr; }

  std::unique_ptr<T> value_;
};

}  // namespace berth
