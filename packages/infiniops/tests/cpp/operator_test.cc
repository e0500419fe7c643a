// The C++ entries: `Call`, `Infer`, `Explain`, `Make` and the made object.
#include <infini/ops.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "check.h"

namespace infini::ops {
namespace {

const Context kCpu;

TensorView View(std::vector<float>& data, std::vector<std::int64_t> shape) {
  return {data.data(), shape, DataType::kFloat32, Device()};
}

std::vector<float> Counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

void CallTakesPlainLiterals() {
  auto a = Counting(6);
  auto b = Counting(6);
  std::vector<float> out(6);
  Add::Call(kCpu, View(a, {2, 3}), View(b, {2, 3}), 2, View(out, {2, 3}));
  CHECK_EQUAL(out[5], 18.0f);
  Add::Call(kCpu, View(a, {2, 3}), View(b, {2, 3}), 0.5, View(out, {2, 3}));
  CHECK_EQUAL(out[5], 9.0f);
  RmsNorm::Call(kCpu, View(a, {2, 3}), std::nullopt, 1e-6, View(out, {2, 3}));
  CHECK_EQUAL(std::abs(out[2] - 3 / std::sqrt(14.0f / 3)) < 1e-6, true);
  Linear::Call(kCpu, View(a, {2, 3}), View(b, {2, 3}), {}, View(out, {2, 2}));
  CHECK_EQUAL(out[0], 14.0f);
  CHECK_EQUAL(out[3], 77.0f);
}

void InferGivesShapesAndDtypes() {
  auto x = Counting(12);
  auto w = Counting(20);
  const auto specs = Linear::Infer(View(x, {3, 1, 4}), View(w, {5, 4}), std::nullopt);
  CHECK_EQUAL(specs.size(), std::size_t{1});
  CHECK_EQUAL((specs[0].shape == std::vector<std::int64_t>{3, 1, 5}), true);
  CHECK_EQUAL((specs[0].dtype == DataType::kFloat32), true);
}

void ErrorsNameWhatIsWrong() {
  auto a = Counting(6);
  std::vector<float> out(6, -1.0f);
  CHECK_THROWS(Add::Call(kCpu, View(a, {2, 3}), View(a, {3, 2}), 1, View(out, {2, 3})),
               ErrorCode::kInvalidArgument,
               "add on cpu:0: `input` of shape [2, 3] and `other` of shape [3, 2] do not "
               "broadcast: sizes 2 and 3 must be equal, or one of them 1");
  const TensorView there(a.data(), {6}, DataType::kFloat32, {Device::Type::kNvidia, 1});
  CHECK_THROWS(Add::Call(kCpu, View(a, {6}), there, 1, View(out, {6})), ErrorCode::kInvalidArgument,
               "add on cpu:0: `other` is on nvidia:1, but the call is for cpu:0; move all "
               "tensors to one device");
  CHECK_THROWS(Add::Call({.device = there.device()}, there, there, 1, there),
               ErrorCode::kNotSupported,
               "add on nvidia:1: this build has no implementation for devices of type nvidia");
  CHECK_THROWS(Add::Call({.implementation = 7}, View(a, {6}), View(a, {6}), 1, View(out, {6})),
               ErrorCode::kNotSupported,
               "add on cpu:0: the caller asks for slot 7, which is not active; active slots: 0 "
               "(native)");
  CHECK_THROWS(RmsNorm::Call(kCpu, View(a, {6}), std::nullopt, -1, View(out, {6})),
               ErrorCode::kInvalidArgument, "rms_norm: `eps` must be at least 0, got -1");
  for (const float value : out) CHECK_EQUAL(value, -1.0f);
}

void MadeOperatorsKeepCopiesOfTemporaries() {
  auto x = Counting(8);
  auto w = Counting(4);
  std::vector<float> out(8);
  std::vector<float> expected(8);
  RmsNorm::Call(kCpu, View(x, {2, 4}), View(w, {4}), 0.5, View(expected, {2, 4}));
  // Everything that Make gets is gone before the first run.
  std::optional<RmsNorm> made;
  {
    auto shape = std::make_unique<std::vector<std::int64_t>>(std::vector<std::int64_t>{2, 4});
    made = RmsNorm::Make(kCpu, TensorView(x.data(), *shape, DataType::kFloat32, Device()),
                         TensorView(w.data(), {4}, DataType::kFloat32, Device()), 0.5,
                         TensorView(out.data(), *shape, DataType::kFloat32, Device()));
  }
  for (int run = 0; run < 2; ++run) {
    std::fill(out.begin(), out.end(), 0.0f);
    (*made)(kCpu);
    CHECK_EQUAL((out == expected), true);
  }
  // Other memory of the same kind.
  auto y = Counting(8);
  for (float& value : y) value = -value;
  (*made)(kCpu, View(y, {2, 4}), View(w, {4}), View(out, {2, 4}));
  CHECK_EQUAL(out[7], -expected[7]);
}

void OptionalInputsComeAndGo() {
  auto x = Counting(8);
  auto w = Counting(4);
  std::vector<float> with(8);
  std::vector<float> without(8);
  RmsNorm::Call(kCpu, View(x, {2, 4}), View(w, {4}), 0.5, View(with, {2, 4}));
  RmsNorm::Call(kCpu, View(x, {2, 4}), std::nullopt, 0.5, View(without, {2, 4}));
  CHECK_EQUAL((with == without), false);
  for (const bool given : {true, false, true, false}) {
    std::vector<float> out(8);
    std::optional<RmsNorm> made;
    {
      // Gone before the first run, as whatever else Make gets.
      auto weight = std::make_unique<std::optional<TensorView>>();
      if (given) weight->emplace(View(w, {4}));
      made = RmsNorm::Make(kCpu, View(x, {2, 4}), *weight, 0.5, View(out, {2, 4}));
    }
    for (int run = 0; run < 2; ++run) {
      std::fill(out.begin(), out.end(), -1.0f);
      (*made)(kCpu);
      CHECK_EQUAL((out == (given ? with : without)), true);
    }
  }
}

void ListsHaveAnyLength() {
  std::vector<float> out(90, -1.0f);
  CHECK_THROWS(Cat::Make(kCpu, {}, 0, View(out, {90})), ErrorCode::kInvalidArgument,
               "cat: `tensors` is an empty list; give at least one tensor");
  CHECK_EQUAL(out[0], -1.0f);
  auto values = Counting(90);
  for (const std::int64_t count : {1, 2, 9, 45}) {
    const std::int64_t rows = 90 / count / 2;
    std::optional<Cat> made;
    {
      // The list, its views and their shapes are gone before the first run.
      auto views = std::make_unique<std::vector<TensorView>>();
      for (std::int64_t i = 0; i < count; ++i) {
        // From the last part to the first.
        const std::vector<std::int64_t> shape = {rows, 2};
        views->emplace_back(values.data() + (count - 1 - i) * rows * 2, shape, DataType::kFloat32,
                            Device());
      }
      made = Cat::Make(kCpu, *views, 0, View(out, {rows * count, 2}));
    }
    for (int run = 0; run < 2; ++run) {
      std::fill(out.begin(), out.end(), -1.0f);
      (*made)(kCpu);
      for (std::int64_t i = 0; i < rows * count * 2; ++i) {
        const std::int64_t part = count - 1 - i / (rows * 2);
        CHECK_EQUAL(out[static_cast<std::size_t>(i)],
                    static_cast<float>(part * rows * 2 + i % (rows * 2) + 1));
      }
    }
  }
}

void MadeOperatorsRefuseOtherShapes() {
  auto x = Counting(8);
  auto w = Counting(4);
  std::vector<float> out(8);
  const auto made = RmsNorm::Make(kCpu, View(x, {2, 4}), View(w, {4}), 0.5, View(out, {2, 4}));
  CHECK_THROWS(made(kCpu, View(x, {1, 4}), View(w, {4}), View(out, {2, 4})),
               ErrorCode::kInvalidArgument,
               "rms_norm on cpu:0: `input` is float32[1, 4] on cpu:0, but the operator was made "
               "for float32[2, 4] on cpu:0; make another one for this shape, dtype and device");
  CHECK_THROWS(made(kCpu, View(x, {2, 4}), std::nullopt, View(out, {2, 4})),
               ErrorCode::kInvalidArgument,
               "rms_norm: `weight` is absent, but the operator was made with it");
  CHECK_THROWS(made({.device = {Device::Type::kSim, 0}}), ErrorCode::kInvalidArgument,
               "rms_norm on sim:0: the operator was made for cpu:0; make another one for this "
               "device");
}

void EveryRankWorks() {
  for (const std::size_t rank : {0, 1, 8, 9, 12}) {
    std::vector<std::int64_t> shape(rank, 1);
    if (rank > 0) shape[rank / 2] = 3;
    const std::size_t count = rank > 0 ? 3 : 1;
    auto a = Counting(count);
    std::vector<float> out(count);
    const auto made = Add::Make(kCpu, View(a, shape), View(a, shape), 1, View(out, shape));
    made(kCpu);
    CHECK_EQUAL(out.back(), 2 * a.back());
  }
}

void SelectionsAreScoped() {
  auto a = Counting(2);
  std::vector<float> out(2);
  const auto reason = [&] {
    return Add::Explain(kCpu, View(a, {2}), View(a, {2}), 1, View(out, {2}))[0].reason;
  };
  CHECK_THROWS(ScopedSelection("add"), ErrorCode::kInvalidArgument,
               "ScopedSelection: expected OPERATOR=IMPLEMENTATION, separated by commas, got `add`");
  {
    const ScopedSelection outer("add=native");
    CHECK_EQUAL(reason(), "chosen by a selection in this thread");
    const ScopedSelection inner("add=missing");
    CHECK_THROWS(reason(), ErrorCode::kNotSupported,
                 "add on cpu: there is no implementation `missing`; active: 0 (native)");
  }
  CHECK_EQUAL(reason(), "the smallest active slot");
  CHECK_THROWS(
      ScopedSelection("nothing=native"), ErrorCode::kNotSupported,
      "ScopedSelection: `nothing` is no operator of this build; it has " + [] {
        std::string list;
        for (const char* name : OperatorNames()) {
          list += (list.empty() ? "" : ", ") + std::string(name);
        }
        return list;
      }());
}

void TheAbiVersionIsThatOfTheHeaders() {
  CHECK_EQUAL(infini_ops_abi_version(), INFINI_OPS_ABI_VERSION);
}

}  // namespace
}  // namespace infini::ops

int main() {
  using namespace infini::ops;  // NOLINT(google-build-using-namespace): one scope
  CallTakesPlainLiterals();
  InferGivesShapesAndDtypes();
  ErrorsNameWhatIsWrong();
  MadeOperatorsKeepCopiesOfTemporaries();
  OptionalInputsComeAndGo();
  ListsHaveAnyLength();
  MadeOperatorsRefuseOtherShapes();
  EveryRankWorks();
  SelectionsAreScoped();
  TheAbiVersionIsThatOfTheHeaders();
  return testing::Finish();
}
