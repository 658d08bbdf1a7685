// SPDX-License-Identifier: Apache-2.0
// libberth-audit.so: shows the guard to programs that find the driver past preloaded libraries. The
// dynamic linker (LD_AUDIT) loads it into a namespace of its own and tells it of each function of
// the driver, or of NVML, that it binds for a library, by whichever way (dlsym, dlvsym, a call of a
// library that was loaded with RTLD_DEEPBIND, in a namespace made by dlmopen); it answers with what
// the guard, which is preloaded into the program's own namespace, has in its place. It does nothing
// else, and needs no library. The dynamic linker calls it with its lock held.
#include <link.h>

#include <atomic>
#include <bit>

#include "guard/elf.h"
#include "guard/preload/stand_in.h"

namespace berth::guard {
namespace {

std::atomic<const link_map*> guard;
std::atomic<bool> ready;  // The guard, like all that was loaded at the start, is relocated.

// The cookie of an object is the address of its link_map, as long as nobody sets it.
const link_map& object_by(const uintptr_t* cookie) {
  return *std::bit_cast<const link_map*>(*cookie);
}

constexpr const char* kFollowed[] = {"libcuda.so", "libnvidia-ml.so"};

bool is_followed(const Object& object) {
  for (const char* name : kFollowed) {
    if (is_named(object, name)) return true;
  }
  return false;
}

bool needs_followed(const Object& object) {
  for (const char* name : kFollowed) {
    if (needs(object, name)) return true;
  }
  return false;
}

}  // namespace

#define SEEN extern "C" [[gnu::visibility("default")]]

SEEN unsigned int la_version(unsigned int version) {
  return version;  // What is used here is in all of them.
}

// An object of which nothing is said is bound as if we were not there: at no cost.
SEEN unsigned int la_objopen(link_map* opened, Lmid_t space, uintptr_t* /*cookie*/) {
  const Object object = object_of(*opened);
  if (!object.found()) return 0;
  if (space == LM_ID_BASE && is_named(object, "libberth-guard.so")) guard.store(opened);
  if (is_followed(object)) return LA_FLG_BINDTO;
  return needs_followed(object) ? LA_FLG_BINDFROM : 0;
}

SEEN void la_preinit(uintptr_t* /*cookie*/) {
  ready.store(true);
}

SEEN uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned int /*index*/, uintptr_t* from,
                            uintptr_t* to, unsigned int* flags, const char* /*name*/) {
  *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
  const link_map* const ours = guard.load();
  if (ours == nullptr || !ready.load() || !is_followed(object_of(object_by(to))) ||
      is_of_the_driver(object_of(object_by(from)))) {
    return symbol->st_value;
  }
  void* const found = symbol_in(object_of(*ours), kStandIn);
  if (found == nullptr) return symbol->st_value;
  const auto stand_in = reinterpret_cast<StandIn*>(found);
  return reinterpret_cast<uintptr_t>(
      stand_in(&object_by(to), std::bit_cast<void*>(symbol->st_value)));
}

}  // namespace berth::guard
