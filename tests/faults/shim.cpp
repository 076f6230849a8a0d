// Loaded before everything else (LD_PRELOAD): makes one call fail that changes files in a folder, or one allocation of
// the kernels. `trubleu_fault` arms it; how many calls came by says `trubleu_fault_calls`.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <new>
#include <sys/uio.h>
#include <unistd.h>

namespace {

enum Mode { once = 1, from_then_on = 2, killed = 3 };

std::atomic<long> calls{0}, at{0}, mode{0}, code{0}, allocations{0};
char folder[4096];

bool inside(const char *path) { return path != nullptr && folder[0] && std::strncmp(path, folder, std::strlen(folder)) == 0; }

bool is_ours(int descriptor) {
  if (!folder[0]) return false;
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return false;
  path[size] = 0;
  return inside(path);
}

// Whether the call that comes now is to fail; a half says that some of its bytes may be written first.
bool fails(bool *half = nullptr) {
  const long number = ++calls;
  if (at == 0 || number < at || (mode != from_then_on && number != at)) return false;
  if (mode == killed) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  if (half != nullptr) *half = number == at && code == ENOSPC;
  errno = static_cast<int>(code);
  return true;
}

template <typename Function> Function real(const char *name) { return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name)); }

bool of_kernels(const void *caller) {
  Dl_info found;
  return dladdr(caller, &found) != 0 && found.dli_fname != nullptr && std::strstr(found.dli_fname, "/_kernels") != nullptr;
}

// Whether an allocation is to fail; only those of the kernels count.
bool no_memory(const void *caller) {
  if (!allocations.load(std::memory_order_relaxed) || !of_kernels(caller)) return false;
  const long number = ++calls;
  return at != 0 && (number == at || (mode == from_then_on && number > at));
}

void *allocated(std::size_t size, std::size_t alignment, const void *caller, bool throws) {
  void *found = nullptr;
  if (!no_memory(caller)) {
    if (alignment == 0) found = std::malloc(size ? size : 1);
    else if (posix_memalign(&found, alignment, size ? size : 1) != 0) found = nullptr;
  }
  if (found == nullptr && throws) throw std::bad_alloc();
  return found;
}

}  // namespace

extern "C" {

// The call with this number fails (none: 0), and those after it if the mode says so, in files below a folder; or, without
// a folder, an allocation.
void trubleu_fault(const char *below, long number, int how, int error) {
  calls = 0, at = number, mode = how, code = error;
  std::snprintf(folder, sizeof folder, "%s", below);
  allocations = below[0] == 0;
}

long trubleu_fault_calls() { return calls; }

ssize_t write(int descriptor, const void *data, size_t size) {
  static const auto usual = real<ssize_t (*)(int, const void *, size_t)>("write");
  bool half = false;
  if (is_ours(descriptor) && fails(&half)) return half && size > 1 ? usual(descriptor, data, size / 2) : -1;
  return usual(descriptor, data, size);
}

ssize_t writev(int descriptor, const iovec *parts, int count) {
  static const auto usual = real<ssize_t (*)(int, const iovec *, int)>("writev");
  return is_ours(descriptor) && fails() ? -1 : usual(descriptor, parts, count);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t place) {
  static const auto usual = real<ssize_t (*)(int, const void *, size_t, off_t)>("pwrite");
  bool half = false;
  if (is_ours(descriptor) && fails(&half)) return half && size > 1 ? usual(descriptor, data, size / 2, place) : -1;
  return usual(descriptor, data, size, place);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t place) { return pwrite(descriptor, data, size, place); }

#define ON_DESCRIPTOR(name, parameters, ...)                            \
  int name parameters {                                                 \
    static const auto usual = real<int(*) parameters>(#name);           \
    return is_ours(descriptor) && fails() ? -1 : usual(__VA_ARGS__);    \
  }
ON_DESCRIPTOR(fsync, (int descriptor), descriptor)
ON_DESCRIPTOR(fdatasync, (int descriptor), descriptor)
ON_DESCRIPTOR(ftruncate, (int descriptor, off_t size), descriptor, size)
ON_DESCRIPTOR(ftruncate64, (int descriptor, off64_t size), descriptor, size)
ON_DESCRIPTOR(fallocate, (int descriptor, int how, off_t first, off_t size), descriptor, how, first, size)

#define ON_PATHS(name, path, parameters, ...)                           \
  int name parameters {                                                 \
    static const auto usual = real<int(*) parameters>(#name);           \
    return inside(path) && fails() ? -1 : usual(__VA_ARGS__);           \
  }
ON_PATHS(rename, to, (const char *from, const char *to), from, to)
ON_PATHS(renameat, to, (int a, const char *from, int b, const char *to), a, from, b, to)
ON_PATHS(link, to, (const char *from, const char *to), from, to)
}

void *operator new(std::size_t size) { return allocated(size, 0, __builtin_return_address(0), true); }
void *operator new[](std::size_t size) { return allocated(size, 0, __builtin_return_address(0), true); }
void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return allocated(size, 0, __builtin_return_address(0), false); }
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept { return allocated(size, 0, __builtin_return_address(0), false); }
void *operator new(std::size_t size, std::align_val_t how) {
  return allocated(size, static_cast<std::size_t>(how), __builtin_return_address(0), true);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
