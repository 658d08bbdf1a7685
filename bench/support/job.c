// SPDX-License-Identifier: Apache-2.0
// The job of the hand-over benchmarks: appends the moments of its begin and its end to LOG, as two
// numbers of 8 bytes, nanoseconds of CLOCK_MONOTONIC. It loads libc alone, so that little but the
// start of a process is measured. With HOLD it waits in between until that named pipe is opened to
// write.
// usage: bench_job LOG [HOLD]
#include <fcntl.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

int main(int count, char** arguments) {
  int64_t moments[2];
  moments[0] = now();
  if (count < 2) return 64;
  const int log = open(arguments[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return 73;
  if (count > 2 && open(arguments[2], O_RDONLY | O_CLOEXEC) < 0) return 66;
  moments[1] = now();
  return write(log, moments, sizeof moments) == (ssize_t)sizeof moments ? 0 : 74;
}
