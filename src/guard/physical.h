// SPDX-License-Identifier: Apache-2.0
// Physical memory that has handles and mappings (cuMemCreate and what follows), and when it is
// free: not before it was released as often as it was created or retained, and nothing maps it. It
// does not charge; it says what is free. Any thread; in zeroed memory it is empty and ready.
#pragma once

#include <cstdint>

#include "guard/table.h"

namespace berth::guard {

class Physical {
 public:
  using Handle = std::uint64_t;
  /// What a call concerns; 0: nothing that we know.
  using Object = std::uint64_t;

  /// This process has nothing of it any more. Object 0: nothing is free.
  struct Freed {
    Object object = 0;
    std::uint32_t device = 0;
    std::uint64_t bytes = 0;
  };

  /// The driver has made it. False: no memory to keep it in mind.
  bool created(Handle handle, std::uint32_t device, std::uint64_t bytes);
  /// The driver has given a handle of another process's memory, which costs nothing here; 0 if it
  /// is one that we have.
  Object imported(Handle handle);
  /// The driver has given a handle of what is mapped at this address.
  void retained(Handle handle, std::uint64_t address);

  /// Before the driver releases a handle: afterwards, others may be given the same one.
  Object begin_release(Handle handle);
  Freed released(Object object);
  void not_released(Object object, Handle handle);

  Object object_of(Handle handle);
  void mapped(Object object, std::uint64_t address, std::uint64_t bytes);

  /// Before the driver unmaps a range; free(…) for each whose last use that was. `unmap` is the
  /// driver's call, and says whether it did. False: no memory to keep all of them in mind.
  template <class Unmap, class Free>
  bool unmap(std::uint64_t address, std::uint64_t bytes, Unmap unmap, Free free) {
    Mappings taken;
    const bool all = begin_unmap(address, bytes, taken);
    const bool done = unmap();
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (done) {
        free(unmapped(taken[i]));
      } else {
        not_unmapped(taken[i]);
      }
    }
    return all;
  }

 private:
  // A list in memory straight from the kernel, which most calls do not need.
  class Mappings {
   public:
    Mappings() = default;
    ~Mappings();
    Mappings(const Mappings&) = delete;
    Mappings& operator=(const Mappings&) = delete;

    std::size_t size() const { return size_; }
    const Entry& operator[](std::size_t place) const { return entries_[place]; }
    /// False: no memory.
    bool add(const Entry& entry);

   private:
    static constexpr std::size_t kFew = 16;
    Entry few_[kFew];
    Entry* entries_ = few_;
    std::size_t room_ = kFew;
    std::size_t size_ = 0;
  };

  bool begin_unmap(std::uint64_t address, std::uint64_t bytes, Mappings& taken);
  Freed unmapped(const Entry& mapping);
  void not_unmapped(const Entry& mapping);
  Freed drop_locked(Object object);

  Mutex mutex_;  // These calls are rare and slow in the driver; one for all is enough.
  Object last_;
  Table handles_;   // By handle: owner is the object, count how often it must be released.
  Table objects_;   // By object: count is of releases and mappings to come.
  Table mappings_;  // By address: owner is the object.
};

}  // namespace berth::guard
