// The binary interface of DLPack 1.x, as far as it is used here: structures
// that exchange a tensor between libraries, and the table of functions that a
// library publishes on its tensor type as `__dlpack_c_exchange_api__`.
#ifndef INFINI_OPS_PYTHON_DLPACK_H_
#define INFINI_OPS_PYTHON_DLPACK_H_

#include <cstdint>

namespace infini::ops::python::dlpack {

inline constexpr std::uint32_t kMajorVersion = 1;

enum DeviceType : std::int32_t {
  kCpu = 1,
  kCuda = 2,
  kCudaHost = 3,
  kExternal = 12,
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

struct Device {
  std::int32_t type;
  std::int32_t index;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null means contiguous
  std::uint64_t byte_offset;
};

inline constexpr std::uint64_t kReadOnly = 1;
inline constexpr std::uint64_t kCopied = 2;

/// What a "dltensor_versioned" capsule holds.
struct ManagedTensorVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

/// What a "dltensor" capsule of an older library holds.
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

struct ExchangeHeader {
  Version version;
  ExchangeHeader* previous;  // the table of an older major version, or null
};

/// The functions of a library. Those that return int give 0 for success; the
/// ones that take a Python object set a Python error otherwise.
struct ExchangeApi {
  ExchangeHeader header;
  int (*allocate)(Tensor* prototype, ManagedTensorVersioned** result, void* error_context,
                  void (*set_error)(void* context, const char* kind, const char* message));
  int (*export_managed)(void* object, ManagedTensorVersioned** result);
  int (*import_managed)(ManagedTensorVersioned* tensor, void** object);
  int (*export_view)(void* object, Tensor* result);  // may be null
  int (*current_stream)(std::int32_t device_type, std::int32_t device_index, void** stream);
};

}  // namespace infini::ops::python::dlpack

#endif  // INFINI_OPS_PYTHON_DLPACK_H_
