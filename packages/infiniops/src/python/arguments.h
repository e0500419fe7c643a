// How Python objects become the arguments of an operator.
#ifndef INFINI_OPS_PYTHON_ARGUMENTS_H_
#define INFINI_OPS_PYTHON_ARGUMENTS_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "infini/ops/context.h"
#include "infini/ops/implementation.h"
#include "infini/ops/scalar.h"
#include "python/dlpack.h"

namespace infini::ops::python {

namespace nb = nanobind;

struct TypeRecord;

/// One call of an operator: what it needs beside its own arguments. A handle
/// that is not valid stands for an argument that was not given.
class Call {
 public:
  Call(const char* op, nb::handle stream, nb::handle implementation, nb::handle config)
      : op_(op), stream_(stream), implementation_(implementation) {
    if (config.is_valid() && !config.is_none()) RefuseConfig();
  }

  const char* op() const noexcept { return op_; }

  /// Notes a tensor: the first one decides the device.
  void Note(const TensorView& view) noexcept {
    if (!device_) device_ = view.device();
    bytes_ += view.nbytes();
  }

  /// Runs `start(context)`, without the GIL where the work is worth it.
  template <std::invocable<const Context&> Start>
  void Run(Start start) const {
    const Context context = MakeContext();
    if (bytes_ < kBytesWorthTheGil) {
      start(context);
      return;
    }
    const nb::gil_scoped_release released;
    start(context);
  }

  /// Returns the reports of `explain(context)` as a list of tuples.
  template <std::invocable<const Context&> Explain_>
  nb::object Explain(Explain_ explain) const {
    nb::list reports;
    for (const ImplementationReport& report : explain(MakeContext())) {
      reports.append(nb::make_tuple(report.slot, report.name, report.selected, report.reason));
    }
    return reports;
  }

 private:
  // Below this the work takes less time than two switches of the GIL.
  static constexpr std::int64_t kBytesWorthTheGil = 32 * 1024;

  [[noreturn]] void RefuseConfig() const;

  Context MakeContext() const {
    Context context;
    if (device_) context.device = *device_;
    if (stream_.is_valid() || implementation_.is_valid()) ReadChoices(context);
    return context;
  }

  /// Takes over what the caller says about the stream and the implementation.
  void ReadChoices(Context& context) const;

  const char* op_;
  nb::handle stream_;
  nb::handle implementation_;
  std::optional<Device> device_;
  std::int64_t bytes_ = 0;
};

/// A tensor argument: borrows the memory of a Python object for the time of a
/// call.
class Array {
 public:
  Array() = default;
  ~Array() {
    if (held_ != Held::kNothing) Release();
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  const TensorView& view() const noexcept { return *view_; }
  const TypeRecord& type() const noexcept { return *type_; }
  /// Where the library of the tensor says that it lies.
  const dlpack::Device& dlpack_device() const noexcept { return dlpack_device_; }

 protected:
  /// Reads `object`; throws `Error` that names `name` and what it is.
  void Read(Call& call, const char* name, nb::handle object, bool writable);

  /// Takes over what DLPack says about a tensor; throws where InfiniRT has no such thing.
  void SetView(const Call& call, const char* name, const dlpack::Tensor& tensor);

  std::optional<TensorView> view_;
  dlpack::Device dlpack_device_{};

 private:
  /// What has to be given back after the call.
  enum class Held : std::uint8_t { kNothing, kBuffer, kManaged, kOldManaged };

  void Release();
  void ReadExchange(const Call& call, const char* name, nb::handle object, bool writable);
  void ReadBuffer(const Call& call, const char* name, nb::handle object, bool writable);
  void ReadDlpack(const Call& call, const char* name, nb::handle object, bool writable);

  const TypeRecord* type_ = nullptr;
  Held held_ = Held::kNothing;
  union {
    Py_buffer buffer_;
    dlpack::ManagedTensorVersioned* managed_;
    dlpack::ManagedTensor* old_managed_;
  };
};

/// A required input.
class Input : public Array {
 public:
  Input(Call& call, const char* name, nb::handle object) { Read(call, name, object, false); }
};

/// An input that the operator also writes.
class Written : public Array {
 public:
  Written(Call& call, const char* name, nb::handle object) { Read(call, name, object, true); }
};

/// An input that may be None.
class OptionalInput : public Array {
 public:
  OptionalInput(Call& call, const char* name, nb::handle object) {
    if (object.is_valid() && !object.is_none()) Read(call, name, object, false);
  }
  const std::optional<TensorView>& view() const noexcept { return view_; }
};

/// A list or tuple of tensors.
class InputList {
 public:
  InputList(Call& call, const char* name, nb::handle object);
  std::span<const TensorView> view() const noexcept { return views_; }
  const Array& first() const noexcept { return *arrays_.front(); }

 private:
  std::vector<std::unique_ptr<Input>> arrays_;
  std::vector<TensorView> views_;
};

/// An output: given, or made by the library of an input.
class Output : public Array {
 public:
  Output(Call& call, const char* name, nb::handle object) : call_(call), name_(name) {
    if (!object.is_valid() || object.is_none()) return;
    object_ = nb::borrow(object);
    Read(call, name, object, true);
  }

  bool given() const noexcept { return object_.is_valid(); }
  nb::object object() const { return object_; }

  /// Allocates `spec` with the library and on the device of `input`; does
  /// nothing when the output was given.
  void AllocateLike(const Array& input, const TensorSpec& spec);

 private:
  Call& call_;
  const char* name_;
  nb::object object_;
};

/// Reads a number; `name` is for the error.
Scalar ReadScalar(const Call& call, const char* name, nb::handle object);
double ReadDouble(const Call& call, const char* name, nb::handle object);
std::int64_t ReadInteger(const Call& call, const char* name, nb::handle object);
bool ReadBool(const Call& call, const char* name, nb::handle object);
std::string ReadText(const Call& call, const char* name, nb::handle object);
/// Reads an integer, or a list or tuple of them; nothing or None is none.
std::vector<std::int64_t> ReadIntegers(const Call& call, const char* name, nb::handle object);
/// Reads an element type of InfiniRT: its name, or a dtype of torch or numpy.
DataType ReadDtype(const Call& call, const char* name, nb::handle object);

/// Says which device type DLPack's external device is; none forgets it.
void BindExternalDevice(std::optional<Device::Type> type);

/// Reads a contiguous tensor on the host into `target`.
void CopyFromObject(nb::handle source, class Tensor& target);

}  // namespace infini::ops::python

#endif  // INFINI_OPS_PYTHON_ARGUMENTS_H_
