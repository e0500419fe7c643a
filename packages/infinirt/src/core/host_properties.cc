#include "core/host_properties.h"

#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace infini::rt {
namespace {

/// Returns the text after "key<spaces>:" in a file of such lines; empty when the file or the key is
/// missing.
std::string ReadField(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::size_t ReadKilobytes(const std::string& key) {
  std::size_t kilobytes = 0;
  std::istringstream(ReadField("/proc/meminfo", key)) >> kilobytes;
  return kilobytes * 1024;
}

}  // namespace

DeviceProperties GetHostProperties() {
  DeviceProperties properties;
  properties.name = ReadField("/proc/cpuinfo", "model name");
  if (properties.name.empty()) properties.name = "cpu";
  properties.total_memory = GetHostMemoryInfo().total;
  cpu_set_t cores;
  properties.multiprocessor_count = sched_getaffinity(0, sizeof cores, &cores) == 0
                                        ? CPU_COUNT(&cores)
                                        : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return properties;
}

MemoryInfo GetHostMemoryInfo() {
  MemoryInfo info{ReadKilobytes("MemAvailable"), ReadKilobytes("MemTotal")};
  if (info.total == 0) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    info.total = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page;
    info.free = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
  }
  return info;
}

}  // namespace infini::rt
