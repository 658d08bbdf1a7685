# SPDX-License-Identifier: Apache-2.0
# Programs into which nothing can be preloaded, or which bring something of their own: each has the
# output that it has without Berth, by itself, as a script's interpreter and as a child of another
# one; and one line says so where its budget does not hold it.
load lib

setup() {
  world_up
  unset ASAN_OPTIONS
  cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
  char* memory = malloc(100);
  printf("%s, %s\n", words[count - 1], getenv("MARK"));
  printf("%d %d\n", (int)getuid(), (int)geteuid());
  free(memory);
  return 7;
}
END
  export MARK=marked
}

# as_without COMMAND...: what berth run makes of it; status and stdout are as they are without.
as_without() {
  run --separate-stderr "$@"
  status_is 7
  [[ -z $stderr ]]
  local alone="$status $output"
  run --separate-stderr berth run -m 1G --guard-mode "${mode-auto}" -- "$@"
  [[ "$status $output" == "$alone" ]] || {
    printf 'alone: %s\nwith:  %s\n' "$alone" "$status $output $stderr" >&2
    return 1
  }
}
# says NUMBER: so many lines say that the budget does not hold it; none is anybody else's.
says() {
  [[ $(grep -c 'not held to its budget' <<<"$stderr") == "$1" ]]
  ! grep -v '^berth: ' <<<"$stderr"
}

# stands_aside PROGRAM WHY: Berth does, and says so where it can see it.
stands_aside() {
  as_without "$1" word
  says 1
  contains "not held to its budget: $1 $2"
  run --separate-stderr berth run -q -m 1G -- "$1" word
  says 1
  printf '#!%s\n' "$PWD/$1" >script
  chmod +x script
  as_without ./script
  says 1
  contains "not held to its budget: $PWD/$1 $2"
  as_without bash -c "$1 word; exit \$?"
  says 0
  mode=audit as_without bash -c "$1 word; exit \$?"
  says 0
}

# is_held PROGRAM [unaudited]: nothing is said of it, nor by it.
is_held() {
  as_without "$1" word
  says 0
  printf '#!%s\n' "$PWD/$1" >script
  chmod +x script
  as_without ./script
  says 0
  as_without bash -c "$1 word; exit \$?"
  says 0
  [[ ${2-} == unaudited ]] || mode=audit as_without bash -c "$1 word; exit \$?"
  says 0
}

@test "a program of another C library" {
  type -P musl-gcc || skip "no musl-gcc here"
  musl-gcc program.c -o musl
  stands_aside ./musl "uses another C library than glibc"
}

@test "a program of 32 bits" {
  cat >small.s <<'END'
.globl _start
_start: mov $4, %eax
mov $1, %ebx
mov $text, %ecx
mov $6, %edx
int $0x80
mov $1, %eax
mov $7, %ebx
int $0x80
text: .ascii "small\n"
END
  gcc -m32 -nostdlib -static small.s -o small || skip "this compiler makes no programs of 32 bits"
  ./small || [[ $? == 7 ]] || skip "this kernel runs no programs of 32 bits"
  stands_aside ./small "is for another kind of machine"
}

@test "a statically linked program" {
  gcc -static program.c -o static || skip "no static C library here"
  stands_aside ./static "is statically linked"
  run berth run -m 1G --enforce guard -- ./static
  status_is 69
}

@test "a program that runs as another user" {
  ((EUID == 0)) || skip "this needs root, to make one"
  gcc program.c -o other
  chown 60001 other
  chmod 4755 other
  run ./other
  [[ $output == *"0 60001" ]] || skip "such programs have no effect here"
  stands_aside ./other "runs with other rights than yours"
}

@test "a program with rights of its own" {
  ((EUID == 0)) || skip "this needs root, to make one"
  type -P setcap || skip "no setcap here"
  gcc program.c -o capable
  setcap cap_net_raw+ep capable || skip "this file system keeps no rights of programs"
  stands_aside ./capable "runs with other rights than yours"
}

@test "a program of AddressSanitizer" {
  gcc -fsanitize=address program.c -o checked || skip "no AddressSanitizer here"
  is_held ./checked
  # Its word about its own options stays the user's.
  ASAN_OPTIONS=exitcode=9 run --separate-stderr berth run -q -m 1G -- bash -c 'echo $ASAN_OPTIONS'
  [[ $output == exitcode=9:verify_asan_link_order=0 ]]
  ASAN_OPTIONS=verify_asan_link_order=1 \
    run --separate-stderr berth run -q -m 1G -- bash -c 'echo $ASAN_OPTIONS'
  [[ $output == verify_asan_link_order=1 ]]
}

@test "a program of ThreadSanitizer" {
  gcc -fsanitize=thread program.c -o checked || skip "no ThreadSanitizer here"
  ./checked || [[ $? == 7 ]] || skip "it cannot live with as random addresses as this kernel's"
  is_held ./checked unaudited
  run --separate-stderr berth run -m 1G --guard-mode audit -- ./checked word
  status_is 7
  contains "not held to its budget: ./checked is one of ThreadSanitizer"
}

# Its run-time is in the program, and no library of its own.
@test "a program of clang's ThreadSanitizer" {
  type -P clang || skip "no clang here"
  clang -fsanitize=thread program.c -o checked || skip "no ThreadSanitizer here"
  ./checked || [[ $? == 7 ]] || skip "it cannot live with as random addresses as this kernel's"
  is_held ./checked unaudited
  run --separate-stderr berth run -m 1G --guard-mode audit -- ./checked word
  status_is 7
  contains "not held to its budget: ./checked is one of ThreadSanitizer"
}

@test "what a sanitizer's program starts has nothing of the sanitizer" {
  printf '#include <stdlib.h>\nint main(int n, char** words) { return system(words[n - 1]) >> 8; }\n' >starts.c
  for sanitizer in address thread; do
    gcc -fsanitize=$sanitizer starts.c -o starts || skip "no sanitizers here"
    as_without ./starts 'bash -c "echo started; exit 7"'
    [[ $output == started ]]
    run --separate-stderr berth run -q -m 1G -- ./starts 'echo $LD_PRELOAD; exit 7'
    [[ $output == */libberth-guard.so && $output != *lib?san* ]]
  done
}

# By a driver that needs neither files nor memory; the simulated one would fail first.
@test "a program whose guard has no memory, or no /proc, is told so" {
  cat >driver.c <<'END'
#include <string.h>
int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGetUuid_v2(char *uuid, int device) { memset(uuid, device, 16); return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)1; return device; }
int cuMemAlloc_v2(unsigned long long *at, unsigned long bytes) { *at = 4096; return bytes == 0; }
END
  gcc -shared -fPIC -Wl,-soname,libcuda.so.1 driver.c -o libcuda.so.1
  cat >limited.c <<'END'
#include <stdio.h>
#include <sys/resource.h>
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuMemAlloc_v2(unsigned long long *at, unsigned long bytes);
int main(int count, char **words) {
  struct rlimit none = {1, 1};
  void *context;
  unsigned long long at;
  if (count > 1) setrlimit(*words[1] == 'd' ? RLIMIT_DATA : RLIMIT_AS, &none);
  int result = cuInit(0) + cuDevicePrimaryCtxRetain(&context, 0) + cuMemAlloc_v2(&at, 1ul << 34);
  return result;
}
END
  gcc limited.c -o limited libcuda.so.1 -Wl,--disable-new-dtags,-rpath,"$PWD"
  local kind
  for kind in address data; do
    run --separate-stderr berth run -q -m 1G -- ./limited "$kind"
    status_is 0
    [[ $stderr == "berth-guard: no memory to count in: no budget holds this program" ]]
  done
  unshare --mount true 2>/dev/null || skip "this needs a mount namespace, which this container does not allow"
  run --separate-stderr berth run -q -m 1G -- unshare --mount \
    bash -c 'mount -t tmpfs none /proc && exec ./limited'
  status_is 0
  [[ $stderr == "berth-guard: /proc cannot be read: no budget holds this program" ]]
}

@test "a program in an empty environment" {
  gcc program.c -o program
  as_without env -i "$PWD/program" word
  says 0
  as_without env -i "$(type -P bash)" -c "$PWD/program word; exit \$?"
  says 0
}

@test "a program with a preloaded library of its own" {
  gcc program.c -o program
  cat >own.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
char* getenv(const char* name) {
  char* (*next)(const char*) = (char* (*)(const char*))dlsym(RTLD_NEXT, "getenv");
  return strcmp(name, "MARK") == 0 ? "by the library" : next(name);
}
END
  gcc -shared -fPIC own.c -o own.so
  as_without env LD_PRELOAD="$PWD/own.so" ./program word
  [[ $output == "word, by the library"* ]]
  ! berth_is_sanitized || return 0
  LD_PRELOAD=$PWD/own.so as_without ./program word
  says 0
  [[ $output == "word, by the library"* ]]
}

# As MangoHud's: it stands before the guard in the list, and looks functions up itself.
@test "a preloaded library that answers for the dynamic linker holds nobody off" {
  ! berth_is_sanitized || skip "no program with a sanitizer starts behind such a library, by itself"
  cat >ahead.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
void *dlsym(void *handle, const char *name) {
  static void *(*real)(void *, const char *);
  if (!real) real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  return real(handle, name);
}
END
  gcc -shared -fPIC ahead.c -o libahead.so
  LD_PRELOAD=$PWD/libahead.so run --separate-stderr berth run -q -m 2G -- vram_user --bytes 4GiB
  status_is 1
  contains "CUDA_ERROR_OUT_OF_MEMORY"
  export LD_LIBRARY_PATH=$PWD
  LD_PRELOAD=libahead.so run --separate-stderr berth run -q -m 2G -- vram_user --bytes 4GiB
  status_is 1
}

@test "a script without a first line, and the dynamic linker, start what is held" {
  local linker
  linker=$(ldd "$(type -P berth)" | awk '/ld-linux/ { print $1 }')
  echo 'vram_user --bytes 4GiB' >script
  chmod +x script
  for command in ./script "$linker $(type -P vram_user) --bytes 4GiB"; do
    run --separate-stderr berth run -q -m 2G -- $command
    status_is 1
    contains "CUDA_ERROR_OUT_OF_MEMORY"
  done
}

@test "a program whose libraries have functions of these names, and one that asks for the next" {
  cat >names.c <<'END'
int cuMemAlloc_v2(void* pointer, long bytes) { return 15 + (int)bytes; }
int nvmlDeviceGetMemoryInfo(void* device, void* memory) { return 16 + (device == memory); }
END
  echo 'int answer(void) { return 40; }' >second.c
  cat >first.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
int answer(void) { return ((int (*)(void))dlsym(RTLD_NEXT, "answer"))() + 2; }
END
  cat >user.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int answer(void);
int cuMemAlloc_v2(void* pointer, long bytes);
int nvmlDeviceGetMemoryInfo(void* device, void* memory);
int main(void) {
  void* names = dlopen("./names.so", RTLD_NOW);
  int (*found)(void*, long) = (int (*)(void*, long))dlsym(names, "cuMemAlloc_v2");
  int (*told)(void*, void*) = (int (*)(void*, void*))dlsym(names, "nvmlDeviceGetMemoryInfo");
  char byte;
  printf("%d %d %d\n", answer(), found(&byte, 1), told(&byte, &byte));
  printf("%d %d\n", cuMemAlloc_v2(&byte, 2), nvmlDeviceGetMemoryInfo(&byte, 0));
  printf("%d\n", dlsym(names, "cuMemAlloc_v3") == 0);
  return 7;
}
END
  for library in names second first; do
    gcc -shared -fPIC "$library.c" -o "$library.so" -ldl
  done
  gcc user.c -o user -Wl,--no-as-needed ./first.so ./second.so ./names.so -Wl,-rpath,"$PWD" -ldl
  as_without ./user
  [[ $output == $'42 16 17\n17 16\n1' ]]
  says 0
  mode=audit as_without ./user
  says 0
}

@test "a program that opens libcuda.so, which has no number, is held" {
  ! berth_is_sanitized || skip "a program without a sanitizer loads no driver that has one"
  cat >user.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  void* driver = dlopen("libcuda.so", RTLD_NOW);
  if (driver == 0) return puts(dlerror()) + 70;
  int (*start)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*retain)(void**, int) = (int (*)(void**, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*set)(void*) = (int (*)(void*))dlsym(driver, "cuCtxSetCurrent");
  int (*take)(long*, long) = (int (*)(long*, long))dlsym(driver, "cuMemAlloc_v2");
  void* context;
  long at;
  start(0);
  retain(&context, 0);
  set(context);
  printf("%d ", take(&at, 1L << 30));
  printf("%d\n", take(&at, 1L << 30));
  return 0;
}
END
  gcc user.c -o user -ldl
  for mode in preload audit; do
    run --separate-stderr berth run -q -m 2G --guard-mode "$mode" -- ./user
    status_is 0
    [[ $output == "0 2" ]]
  done
}
